import { jsonFree, messagePackFree } from '../encode/free-entries.js';
import type { ConflictBy } from '../model/fields.js';
import type { AnyFormatName } from '../model/format.js';
import type { RoomTable } from '../model/room.js';
import { encodeDirectoryCursor, placeAfter } from '../query/cursor.js';
import type { Explanation } from '../query/explain.js';
import { explainFree } from '../query/explain-free.js';
import { type FreeQuery, findFree } from '../query/free.js';
import { FreeKeys } from '../query/free-keys.js';
import type { Parameters } from '../query/parameters.js';
import type { Window } from '../query/query.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Answer, Read } from './answer.js';
import type { Directories } from './directories.js';
import type { EntityTags } from './entity-tag.js';

/** GET /schedule/free from one snapshot and one table of rooms. */
export class FreeReader {
  readonly #snapshot: Snapshot;
  readonly #rooms: RoomTable | null;
  readonly #tags: EntityTags;
  readonly #directories: Directories;
  /** Made on first use. */
  readonly #keys = new Map<ConflictBy, FreeKeys>();

  constructor(snapshot: Snapshot, directories: Directories, rooms: RoomTable | null, tags: EntityTags) {
    this.#directories = directories;
    this.#snapshot = snapshot;
    this.#rooms = rooms;
    this.#tags = tags;
  }

  read(parameters: Parameters): Read {
    const digest = this.#rooms?.digest ?? '';
    return {
      format: parameters.format,
      entityTag: (format) => this.#tags.of('free', parameters, null, format, digest),
      execute: (format) => this.#answer(parameters, format),
    };
  }

  /** @param parseMs time taken to read the parameters */
  explain(parameters: Parameters, parseMs: number): Explanation {
    const query = parameters.free as FreeQuery;
    const planning = performance.now();
    const keys = this.#keysOf(query.by);
    const executing = performance.now();
    const { keys: found, marks } = findFree(keys, query);
    const encoding = performance.now();
    const { total, count, body } = this.#answer(parameters, 'json');
    const ended = performance.now();
    return {
      plan: explainFree(keys, query, found.length, marks),
      total,
      count,
      bodyBytes: body.byteLength ?? 0,
      timings: {
        parseMs,
        planMs: executing - planning,
        executeMs: encoding - executing,
        encodeMs: ended - encoding,
      },
    };
  }

  #keysOf(by: ConflictBy): FreeKeys {
    let keys = this.#keys.get(by);
    if (keys === undefined) {
      keys = new FreeKeys(this.#snapshot, this.#directories.of(`${by}s`), by, this.#rooms);
      this.#keys.set(by, keys);
    }
    return keys;
  }

  #answer({ free, directoryCursor, limit }: Parameters, format: AnyFormatName): Answer {
    const query = free as FreeQuery;
    const keys = this.#keysOf(query.by);
    const found = findFree(keys, query).keys;
    const from = directoryCursor === null ? 0 : placeAfter(keys, found, directoryCursor);
    const page = found.subarray(from, Math.min(found.length, from + limit));
    const last = page.at(-1);
    const isLast = last === undefined || from + page.length === found.length;
    const gaps = keys.gapsOf(page, query.windows[0] as Window);
    const encode = format === 'json' ? jsonFree : messagePackFree;
    return {
      total: found.length,
      count: page.length,
      nextCursor: isLast ? null : encodeDirectoryCursor('free', keys.keyOf(last)),
      body: encode(keys.named, page, gaps),
    };
  }
}
