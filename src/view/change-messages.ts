import { CHANGE_MESSAGE_BYTES_MAX } from '../limits.js';
import type { ChangeCounts } from '../snapshot/differences.js';
import type { View } from './view.js';
import type { LiveViews } from './view-source.js';

/** The changes from one publication to a later one. */
export interface ChangeMessage {
  /** Of the later one. */
  readonly snapshotId: string;
  /** Of the later one. */
  readonly version: string;
  /** JSON on one line: `from`, `to`, and `added`, `changed`, `removed`; or `readAnew` and `counts` instead of the lists. */
  readonly json: Buffer;
}

/** Messages of the present publication; each is made once for all readers. */
export class ChangeMessages {
  readonly #views: LiveViews;
  #version = '';
  /** By the snapshot that they start from, of which the history knows a few; the empty text stands for all others. */
  readonly #made = new Map<string, ChangeMessage>();

  constructor(views: LiveViews) {
    this.#views = views;
  }

  /** @param isLast whether the previous publication had this snapshot, so that its counts are known */
  since(view: View, from: string, isLast: boolean): ChangeMessage {
    if (view.version !== this.#version) {
      this.#made.clear();
      this.#version = view.version;
    }
    const counts = view.countChanges(from) ?? (isLast ? this.#views.changes : null);
    const key = counts === null ? '' : from;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const { version, summary } = view;
    const json = changesOf(view, from) ?? readAnew(counts === null ? null : from, summary.id, counts);
    const message = { snapshotId: summary.id, version, json };
    this.#made.set(key, message);
    return message;
  }
}

/** Null if they are unknown, or too many for one message. */
function changesOf(view: View, from: string): Buffer | null {
  const result = view.changes([['since', from]], { unknownParameters: 'reject' });
  if (!('read' in result)) return null;
  const { body } = result.read.execute('json');
  const isSmall = body.byteLength !== null && body.byteLength <= CHANGE_MESSAGE_BYTES_MAX;
  return isSmall ? Buffer.concat([...body.chunks]) : null;
}

function readAnew(from: string | null, to: string, counts: ChangeCounts | null): Buffer {
  return Buffer.from(JSON.stringify({ from, to, readAnew: true, counts }), 'utf8');
}
