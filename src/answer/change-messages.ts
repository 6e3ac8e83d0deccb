import { CHANGE_MESSAGE_BYTES_MAX, CHANGE_MESSAGES_BYTES_MAX } from '../base/limits.js';
import type { ChangeCounts } from '../change/change.js';
import { STRICT } from './parameters.js';
import type { LiveViews } from './present.js';
import type { View } from './view.js';

/** The changes from one publication to a later one. */
export interface ChangeMessage {
  /** Version of the later publication. */
  readonly version: string;
  /** JSON on one line: `from`, `to`, and `added`, `changed`, `removed`; or `readAnew` and `counts` instead of the lists. */
  readonly json: Buffer;
}

/** Messages of the present publication; each message is made once for all readers. */
export class ChangeMessages {
  readonly #views: LiveViews;
  #version = '';
  /**
   * Messages by the snapshot from which they start, if the history knows it; the empty text stands for all
   * other snapshots.
   */
  readonly #made = new Map<string, ChangeMessage>();
  #bytes = 0;

  constructor(views: LiveViews) {
    this.#views = views;
  }

  /** @param isFromPrevious whether the previous publication had this snapshot, so that its counts are known */
  since(view: View, from: string, isFromPrevious: boolean): ChangeMessage {
    if (view.version !== this.#version) {
      this.#made.clear();
      this.#bytes = 0;
      this.#version = view.version;
    }
    const counts = view.countChanges(from) ?? (isFromPrevious ? this.#views.changes : null);
    const key = counts === null ? '' : from;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const json = changesOf(view, from) ?? readAnew(counts === null ? null : from, view.summary.id, counts);
    const message = { version: view.version, json };
    this.#keep(key, message);
    return message;
  }

  /**
   * Without a bound, messages from every known snapshot would fill the memory. The oldest message is dropped
   * first.
   */
  #keep(key: string, message: ChangeMessage): void {
    this.#made.set(key, message);
    this.#bytes += message.json.length;
    for (const [oldest, { json }] of this.#made) {
      if (this.#bytes <= CHANGE_MESSAGES_BYTES_MAX) break;
      this.#made.delete(oldest);
      this.#bytes -= json.length;
    }
  }
}

/** Null if the changes are unknown, or too many for one message. */
function changesOf(view: View, from: string): Buffer | null {
  const result = view.changes([['since', from]], STRICT);
  if (!('read' in result)) return null;
  const { body } = result.read.execute('json');
  const isSmall = body.byteLength !== null && body.byteLength <= CHANGE_MESSAGE_BYTES_MAX;
  return isSmall ? Buffer.concat([...body.makeChunks()]) : null;
}

function readAnew(from: string | null, to: string, counts: ChangeCounts | null): Buffer {
  return Buffer.from(JSON.stringify({ from, to, readAnew: true, counts }), 'utf8');
}
