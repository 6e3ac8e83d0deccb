import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import type { ObjectInfo } from '@nats-io/obj';
import { LecternError } from '../base/errors.js';
import { STORE_CHUNK_BYTES, STORE_RECORD_BYTES_MAX, STORE_SILENT_MS_MAX } from '../base/limits.js';
import { monotonicMs } from '../base/model/clock.js';
import { type NatsClient, NatsLink } from './nats-connection.js';
import {
  type IfMissing,
  NO_STORE,
  type Store,
  type StoredBytes,
  type StoredObject,
  type StoredRecord,
  UNUSABLE,
  UnchangedSince,
  unavailable,
  withinTime,
} from './store.js';
import type { NatsPlace } from './store-address.js';

/** Time between two checks that a NATS watch still has its bucket. */
const WATCH_CHECK_MS = 5000;

/** Descriptions of objects that are asked for at once. */
const INFOS_AT_ONCE = 256;

/** A put without progress fails after STORE_SILENT_MS_MAX, so chunks that are this old and do not grow have no writer. */
const ABANDONED_MS = 60_000;

/** JetStream's error codes: stream not found; wrong last sequence. */
const STREAM_NOT_FOUND = 10_059;
const WRONG_LAST_SEQUENCE = 10_071;

/** Two buckets with the same name: one for objects and one for records. */
export class NatsStore implements Store {
  readonly name: string;
  readonly #bucket: string;
  /** Whether missing buckets are made. */
  #mayMake: boolean;
  readonly #link: NatsLink;
  /** The numbers of chunks without an object, by subject. */
  readonly #abandoned: UnchangedSince<number>;
  readonly #closing = new AbortController();

  constructor({ url, servers, bucket }: NatsPlace, ifMissing: IfMissing, now: () => number = monotonicMs) {
    this.name = `${url.protocol}//${servers.join(',')}/${bucket}`;
    this.#bucket = bucket;
    this.#mayMake = ifMissing === 'make';
    this.#link = new NatsLink(url, bucket, this.name, servers);
    this.#abandoned = new UnchangedSince(now);
  }

  async put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    let isBegun = false;
    await this.#write(async ({ objects, streams, create }) => {
      // The chunks cannot be read again.
      if (isBegun) throw new Error('its bucket was lost meanwhile');
      const info = await this.#inTime(objects.info(name));
      if (info !== null && !info.deleted) return;
      isBegun = true;
      await putStream(chunks, this.name, (stream) =>
        objects.put({ name, options: { max_chunk_size: STORE_CHUNK_BYTES } }, stream, {
          timeout: STORE_SILENT_MS_MAX,
        }),
      );
      if ((await this.#inTime(objects.info(name))) !== null) return;
      // A server with a damaged file counts messages that it stores in this file, but cannot read them.
      // Messages of an object that was deleted meanwhile are not counted.
      const stream = `OBJ_${this.#bucket}`;
      const { state } = await this.#inTime(
        streams.info(stream, { subjects_filter: this.#descriptionOf(name) }),
      );
      if (Object.keys(state.subjects ?? {}).length > 0) await this.#inTime(create(stream));
      throw new Error('the server lost the stored object');
    });
  }

  async get(name: string): Promise<StoredBytes | null> {
    const found = await this.#read(
      ({ objects }) => objects.get(name),
      null,
      (late) => void late?.data.cancel(),
    );
    if (found === null) return null;
    const chunks = chunksOf(this.name, found.data, found.error);
    return Object.assign(chunks, { sha256: sha256Of(found.info.digest) });
  }

  async bytesOf(name: string): Promise<number | null> {
    const info = await this.#read(({ objects }) => objects.info(name), null);
    return info === null || info.deleted ? null : info.size;
  }

  async list(): Promise<readonly StoredObject[]> {
    const infos = await this.#read((client) => this.#infos(client), [], undefined, false);
    return infos.map(({ name, size }) => ({ name, bytes: size }));
  }

  /** The client's own `list` would wait for descriptions that the server lost from a damaged file. */
  async #infos(client: NatsClient): Promise<ObjectInfo[]> {
    const prefix = `$O.${this.#bucket}.M.`;
    const subjects = await this.#inTime(subjectsOf(client, `OBJ_${this.#bucket}`, `${prefix}>`));
    const names = [...subjects.keys()].map((subject) =>
      Buffer.from(subject.slice(prefix.length), 'base64url').toString(),
    );
    const infos: ObjectInfo[] = [];
    for (let at = 0; at < names.length; at += INFOS_AT_ONCE) {
      const some = names.slice(at, at + INFOS_AT_ONCE).map((name) => client.objects.info(name));
      for (const info of await this.#inTime(Promise.all(some)))
        if (info !== null && !info.deleted) infos.push(info);
    }
    return infos;
  }

  async delete(name: string): Promise<void> {
    await this.#read(async ({ objects, streams }) => {
      const info = await objects.info(name);
      if (info === null) return;
      if (!info.deleted) await objects.delete(name);
      // The client leaves a mark for each deleted object.
      await streams.purge(`OBJ_${this.#bucket}`, { filter: this.#descriptionOf(name) });
    }, undefined);
  }

  /**
   * Looks for chunks in the stream, because the client lists only objects, and a put stores the object after
   * its chunks.
   */
  async removeAbandoned(): Promise<void> {
    const [stream, prefix] = [`OBJ_${this.#bucket}`, `$O.${this.#bucket}.C.`];
    const work = async (client: NatsClient): Promise<void> => {
      // Chunks are listed before objects, so that a put which ends meanwhile has its object.
      const chunks = await this.#inTime(subjectsOf(client, stream, `${prefix}>`));
      for (const { nuid } of await this.#infos(client)) chunks.delete(prefix + nuid);
      for (const [filter, sinceMs] of this.#abandoned.look(chunks))
        if (sinceMs >= ABANDONED_MS) await this.#inTime(client.streams.purge(stream, { filter }));
    };
    await this.#read(work, undefined, undefined, false);
  }

  /** The subject of an object's description. */
  #descriptionOf(name: string): string {
    const encoded = Buffer.from(name).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
    return `$O.${this.#bucket}.M.${encoded}`;
  }

  async read(key: string): Promise<StoredRecord | null> {
    const entry = await this.#read(({ records }) => records.get(key), null);
    if (entry === null || entry.operation !== 'PUT') return null;
    const isRecord = entry.value.length <= STORE_RECORD_BYTES_MAX;
    return { text: isRecord ? entry.string() : UNUSABLE, revision: entry.revision };
  }

  async swap(key: string, text: string, revision: number | null): Promise<number | null> {
    if (Buffer.byteLength(text) > STORE_RECORD_BYTES_MAX)
      throw new RangeError(`the record ${key} is too long`);
    try {
      return await this.#write(async (client) => {
        if (revision !== null) return this.#inTime(client.records.update(key, text, revision));
        const made = await this.#inTime(client.records.create(key, text));
        await this.#expectReadable(client, key);
        return made;
      });
    } catch (error) {
      if (codeOf(error) === WRONG_LAST_SEQUENCE) return null;
      throw error;
    }
  }

  /**
   * A server that lost the folder of a bucket stores and counts records that it cannot read. Every publisher would then
   * announce again and again. So the bucket is made again. A record that was removed meanwhile is not counted.
   */
  async #expectReadable(client: NatsClient, key: string): Promise<void> {
    if ((await this.#inTime(client.records.get(key))) !== null) return;
    const stream = `KV_${this.#bucket}`;
    const counted = await this.#inTime(subjectsOf(client, stream, `$KV.${this.#bucket}.${key}`));
    if (counted.size === 0) return;
    await this.#inTime(client.create(stream));
    throw new Error('the server lost the stored record');
  }

  /** The client's own `keys` may wait for a record that is replaced meanwhile. */
  async keys(start = ''): Promise<readonly string[]> {
    const prefix = `$KV.${this.#bucket}.`;
    return this.#read(async (client) => {
      const subjects = await subjectsOf(client, `KV_${this.#bucket}`, `${prefix}${start}>`);
      return [...subjects.keys()].map((subject) => subject.slice(prefix.length));
    }, []);
  }

  /** The removal leaves no mark, so a watch does not see it. */
  async remove(key: string): Promise<void> {
    const filter = `$KV.${this.#bucket}.${key}`;
    await this.#read(({ streams }) => streams.purge(`KV_${this.#bucket}`, { filter }), undefined);
  }

  watch(keys: readonly string[], onChange: () => void): { close(): void } {
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, this.#closing.signal]);
    void this.#watch(keys, onChange, signal);
    return { close: () => ending.abort() };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#link.close();
  }

  /** Starts the watch again while there is no server or no bucket, and when the bucket was made again. */
  async #watch(keys: readonly string[], onChange: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#watchBucket(keys, onChange, signal).catch(() => {});
      await delay(WATCH_CHECK_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** A watch does not end with its bucket, so the bucket is checked. */
  async #watchBucket(keys: readonly string[], onChange: () => void, signal: AbortSignal): Promise<void> {
    const { records } = await this.#link.open();
    const madeAt = async (): Promise<string> => (await this.#inTime(records.status())).streamInfo.created;
    const bucket = await madeAt();
    // One watch for each key: servers before 2.10 cannot watch several keys at once.
    const watches: Awaited<ReturnType<KV['watch']>>[] = [];
    const stop = (): void => {
      for (const watch of watches) watch.stop();
    };
    const look = async (): Promise<void> => {
      const isSame = await madeAt().then(
        (made) => made === bucket,
        (error) => !isMissing(error),
      );
      if (!isSame) stop();
    };
    const timer = setInterval(() => void look(), WATCH_CHECK_MS).unref();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const watchOne = async (key: string): Promise<void> => {
      const entries = await this.#inTime(records.watch({ key }), (late) => late.stop());
      watches.push(entries);
      if (signal.aborted) stop();
      for await (const _ of entries) if (!signal.aborted) onChange();
    };
    try {
      await Promise.all(keys.map(watchOne));
    } finally {
      stop();
      clearInterval(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  /**
   * @param missing the answer if there is no bucket
   * @param isShort whether the work has to end in time; long work watches each of its steps
   */
  async #read<T>(
    work: (client: NatsClient) => Promise<T>,
    missing: T,
    onLate?: (value: T) => void,
    isShort = true,
  ): Promise<T> {
    const client = await this.#open();
    try {
      const found = await (isShort ? this.#inTime(work(client), onLate) : work(client));
      this.#mayMake = true;
      return found;
    } catch (error) {
      if (!isMissing(error)) throw unavailable(this.name, error);
      if (!this.#mayMake) throw this.#withoutStore(error);
      return missing;
    }
  }

  async #write<T>(work: (client: NatsClient) => Promise<T>): Promise<T> {
    const client = await this.#open();
    let lost: string | null = null;
    try {
      const written = await work(client);
      this.#mayMake = true;
      return written;
    } catch (error) {
      if (codeOf(error) === WRONG_LAST_SEQUENCE) throw error;
      lost = this.#lostStream(error);
      if (lost === null && !isMissing(error)) throw unavailable(this.name, error);
      if (!this.#mayMake) throw this.#withoutStore(error);
    }
    try {
      await this.#inTime(client.create(lost));
      return await work(client);
    } catch (error) {
      if (codeOf(error) === WRONG_LAST_SEQUENCE) throw error;
      throw unavailable(this.name, error);
    }
  }

  /**
   * The stream of a bucket whose folder the server lost. A server loses the folder if the bucket is created
   * again while the server still deletes the old one. The stream takes no messages until it is created again.
   */
  #lostStream(error: unknown): string | null {
    const text = error instanceof Error ? error.message : '';
    const stream = /[\\/]streams[\\/]([\w-]+)[\\/].*no such file/.exec(text)?.[1];
    return stream === `KV_${this.#bucket}` || stream === `OBJ_${this.#bucket}` ? stream : null;
  }

  #inTime<T>(promise: Promise<T>, onLate?: (value: T) => void): Promise<T> {
    return withinTime(promise, this.name, undefined, onLate, this.#closing.signal);
  }

  async #open(): Promise<NatsClient> {
    try {
      return await this.#inTime(this.#link.open());
    } catch (error) {
      throw unavailable(this.name, error);
    }
  }

  #withoutStore(error: unknown): LecternError {
    const isCertain = codeOf(error) === STREAM_NOT_FOUND;
    return unavailable(this.name, isCertain ? new Error(NO_STORE, { cause: error }) : error);
  }
}

/**
 * The first subjects of a stream, at most 100,000, with the number of messages of each. The client itself would read all
 * pages, however many records others made.
 *
 * @param subject one subject, or several: `>` at its end stands for any more parts
 */
async function subjectsOf(
  { connection }: NatsClient,
  stream: string,
  subject: string,
): Promise<Map<string, number>> {
  const query = JSON.stringify({ subjects_filter: subject });
  const options = { timeout: STORE_SILENT_MS_MAX };
  const answer = await connection.request(`$JS.API.STREAM.INFO.${stream}`, query, options);
  const { error, state } = answer.json<{
    readonly error?: { readonly err_code: number; readonly description: string };
    readonly state?: { readonly subjects?: Readonly<Record<string, number>> };
  }>();
  if (error !== undefined) throw Object.assign(new Error(error.description), { code: error.err_code });
  return new Map(Object.entries(state?.subjects ?? {}));
}

/** Whether the bucket is missing: the API says so, or no server has the bucket's stream. */
function isMissing(error: unknown): boolean {
  const name = error instanceof Error ? error.name : '';
  return codeOf(error) === STREAM_NOT_FOUND || name === 'NoRespondersError' || isNoResponders(error);
}

function isNoResponders(error: unknown): boolean {
  return error instanceof Error && /no responders|stream not found|bucket not found/i.test(error.message);
}

function codeOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return null;
  return 'code' in error ? error.code : null;
}

/** The client compares the digest of the bytes that it receives with this one. */
function sha256Of(digest: string): string | null {
  const [, encoded] = /^SHA-256=(.+)$/.exec(digest) ?? [];
  return encoded === undefined ? null : Buffer.from(encoded, 'base64url').toString('hex');
}

/**
 * Gives chunks to `put` as a stream of small pieces, which show progress on slow links. Throws if `put` takes no piece
 * for `silentMsMax`, or does not end within this time after the last piece. In both cases the stream fails, too.
 *
 * @throws LecternError `store-unavailable`
 */
export async function putStream(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  put: (stream: ReadableStream<Uint8Array>) => Promise<unknown>,
  silentMsMax: number = STORE_SILENT_MS_MAX,
): Promise<void> {
  const silence = new AbortController();
  const isSilent = (): void => silence.abort(unavailable(name, new Error('it accepts no more bytes')));
  const timer = setTimeout(isSilent, silentMsMax);
  const heard = (): void => {
    // After a failure, the end of the source must not end the object: the client would store only these bytes.
    silence.signal.throwIfAborted();
    timer.refresh();
  };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += STORE_CHUNK_BYTES) {
        heard();
        yield chunk.subarray(at, at + STORE_CHUNK_BYTES);
      }
    }
    heard();
  }
  const given = pieces();
  const silent = once(silence.signal, 'abort').then(() => Promise.reject(silence.signal.reason));
  try {
    await Promise.race([put(ReadableStream.from(given)), silent]);
  } finally {
    clearTimeout(timer);
    // The end is not awaited, because the source may hang.
    if (!silence.signal.aborted) void given.return(undefined).catch(() => {});
  }
}

/**
 * The bytes of an object. Throws if none come for `silentMsMax`: a get never ends if chunks vanish during it.
 *
 * @param name of the store
 * @param failure of the transfer, such as a wrong digest or a lost connection, which the client reports as a
 * promise
 * @throws LecternError `store-unavailable`, `object-damaged`
 */
export async function* chunksOf(
  name: string,
  data: ReadableStream<Uint8Array>,
  failure: Promise<Error | null | undefined>,
  silentMsMax: number = STORE_SILENT_MS_MAX,
): AsyncGenerator<Uint8Array> {
  const reader = data.getReader();
  // The code below sees the failure, unless reading ends earlier.
  failure.catch(() => {});
  try {
    for (;;) {
      const { done, value } = await withinTime(reader.read(), name, silentMsMax);
      if (done) break;
      yield value;
    }
    const error = await withinTime(failure, name, silentMsMax);
    if (error instanceof Error) throw error;
  } catch (error) {
    throw unavailable(name, namedDamage(name, error));
  } finally {
    // The end is not awaited, because it may hang like a read.
    void reader.cancel().catch(() => {});
  }
}

/** Only the message of the client's error shows that the bytes differ from the bytes that were put. */
function namedDamage(name: string, error: unknown): unknown {
  if (!(error instanceof Error && /digests do not match/.test(error.message))) return error;
  const message = `an object of the store ${name} does not have the bytes that were put`;
  return new LecternError('object-damaged', message, { cause: error });
}
