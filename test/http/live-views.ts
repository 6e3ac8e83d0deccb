/** Views that a test publishes, and a client of event streams that shows every message. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Present } from '../../src/answer/present.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { Change } from '../../src/change/change.js';
import { compare } from '../../src/change/compare.js';
import { extendHistory, NO_DIFFERENCES } from '../../src/change/history.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';

export class PublishedViews extends Present {
  #snapshot: Snapshot | null = null;
  #past: readonly Change[] = [];
  #sequence = 0;

  /** Whether publications are numbered as those of a replica. */
  hasSharedSequence = false;

  constructor(events: readonly NormalisedEvent[] | null) {
    const never = {
      lastSuccessMs: 0,
      lastSuccessMonotonicMs: 0,
      failingSinceMs: null,
      overdueAtMs: null,
      parts: null,
    };
    super(
      { name: 'test', state: 'loaded', ...never, lastError: null },
      { staleMsMax: Number.POSITIVE_INFINITY, cacheBytesMax: 0 },
    );
    if (events !== null) this.publishEvents(events);
  }

  /** @returns the version */
  publishEvents(events: readonly NormalisedEvent[], entriesMax = 100_000): string {
    const builder = new SnapshotBuilder({ identifiers: 'uuid' });
    for (const [n, event] of events.entries()) builder.add(event, { record: n + 1 });
    const image = builder.finish();
    const snapshot = new Snapshot(image);
    const before = this.#snapshot;
    const changes = before === null ? [] : [compare(before, snapshot, entriesMax)];
    const history = before === null ? null : extendHistory(this.#past, changes, snapshot);
    this.#past = history?.changes ?? [];
    this.#snapshot = snapshot;
    this.publish({
      image,
      differences: history?.differences ?? NO_DIFFERENCES,
      sequence: ++this.#sequence,
      hasSharedSequence: this.hasSharedSequence,
      changes,
      state: { origin: 'source', publishedAtMs: 0, builtMonotonicMs: 0 },
    });
    return this.view?.version ?? '';
  }
}

export interface StreamMessage {
  readonly event: string;
  readonly id: string;
  readonly data: unknown;
}

/** Reads the used part of the standard's stream format. */
export class StreamClient {
  readonly req: ClientRequest;
  /** Resolves when the head has arrived. */
  readonly head: Promise<IncomingMessage>;
  /** Resolves when the stream has ended for any reason. */
  readonly ended: Promise<void>;
  readonly messages: StreamMessage[] = [];
  comments = 0;
  retryMs = 0;
  lastEventId = '';
  #text = '';
  #wake: (() => void) | null = null;

  constructor(port: number, path: string, headers: Record<string, string>) {
    const fields = { Accept: 'text/event-stream', ...headers };
    this.req = request({ host: '127.0.0.1', port, path, headers: fields, agent: false });
    this.req.on('error', () => {});
    this.head = new Promise((resolve, reject) => {
      this.req.once('response', resolve);
      this.req.once('error', reject);
    });
    this.head.catch(() => {});
    this.ended = new Promise((resolve) => {
      this.req.once('close', () => {
        this.#wake?.();
        resolve();
      });
    });
    this.req.on('response', (res) => {
      res.setEncoding('utf8');
      res.on('error', () => {});
      res.on('data', (text: string) => this.#take(text));
    });
    this.req.end();
  }

  /** The messages of this name, once there are this many. Rejects if the stream ends before. */
  async count(count: number, event = 'message'): Promise<StreamMessage[]> {
    for (;;) {
      const found = this.messages.filter((message) => message.event === event);
      if (found.length >= count) return found;
      if (this.req.destroyed && this.req.closed) throw new Error(`the stream ended after ${found.length}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(text: string): void {
    const blocks = (this.#text + text).split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) {
      let event = 'message';
      let data: string | null = null;
      for (const line of block.split('\n')) {
        if (line.startsWith(':')) this.comments++;
        else if (line.startsWith('retry: ')) this.retryMs = Number(line.slice(7));
        else if (line.startsWith('id: ')) this.lastEventId = line.slice(4);
        else if (line.startsWith('event: ')) event = line.slice(7);
        else if (line.startsWith('data: ')) data = line.slice(6);
        else throw new Error(`the line ${line} is not expected`);
      }
      if (data !== null)
        this.messages.push({ event, id: this.lastEventId, data: JSON.parse(data) as unknown });
    }
    this.#wake?.();
  }
}
