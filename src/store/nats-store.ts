import { readFileSync } from 'node:fs';
import type { KV } from '@nats-io/kv';
import type { ObjectStore } from '@nats-io/obj';
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node';
import { LecternError } from '../errors.js';
import { STORE_RECORD_BYTES_MAX, STORE_SILENT_MS_MAX } from '../limits.js';
import { stopSilent, withinTime } from './silent-reads.js';
import type { Store, StoredObject, StoredRecord } from './store.js';

/** JetStream's error codes: stream not found; wrong last sequence. */
const STREAM_NOT_FOUND = 10_059;
const WRONG_LAST_SEQUENCE = 10_071;
const CHUNK_BYTES = 128 * 1024;

interface Client {
  readonly connection: NatsConnection;
  readonly records: KV;
  readonly objects: ObjectStore;
  /** Makes both buckets, if they do not exist. */
  create(): Promise<void>;
}

/** @throws LecternError `option-invalid` */
export function openNatsStore(address: string): Store {
  const url = URL.canParse(address) ? new URL(address) : null;
  const bucket = decodeURIComponent(url?.pathname.slice(1) ?? '');
  if (url === null || url.hostname === '' || !/^[\w-]+$/.test(bucket)) {
    const expected = 'nats://host:4222/name, with a name of letters, digits, - and _';
    throw new LecternError('option-invalid', `the address of the store is malformed; expected ${expected}`);
  }
  return new NatsStore(url, bucket);
}

/** A bucket for objects and one for records, with the same name. */
class NatsStore implements Store {
  readonly name: string;
  readonly #url: URL;
  readonly #bucket: string;
  #client: Promise<Client> | null = null;

  constructor(url: URL, bucket: string) {
    this.name = `${url.protocol}//${url.host}/${bucket}`;
    this.#url = url;
    this.#bucket = bucket;
  }

  async put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#write(async ({ objects }) => {
      const info = await withinTime(objects.info(name), this.name);
      if (info !== null && !info.deleted) return;
      let isSilent = (): void => {};
      const silence = new Promise<never>((_, reject) => {
        isSilent = () => reject(this.#unavailable('it accepts no more bytes'));
      });
      let timer: NodeJS.Timeout | undefined;
      const heard = (): void => {
        clearTimeout(timer);
        timer = setTimeout(isSilent, STORE_SILENT_MS_MAX);
      };
      heard();
      try {
        const stream = streamOf(chunks, heard);
        await Promise.race([
          objects.put({ name, options: { max_chunk_size: CHUNK_BYTES } }, stream, {
            timeout: STORE_SILENT_MS_MAX,
          }),
          silence,
        ]);
      } finally {
        clearTimeout(timer);
      }
    });
  }

  async get(name: string): Promise<AsyncIterable<Uint8Array> | null> {
    const found = await this.#read((client) => client.objects.get(name), null);
    if (found === null) return null;
    return stopSilent(checkedChunks(found.data, found.error), this.name);
  }

  async list(): Promise<readonly StoredObject[]> {
    const objects = await this.#read((client) => client.objects.list(), []);
    return objects.filter(({ deleted }) => !deleted).map(({ name, size }) => ({ name, bytes: size }));
  }

  async delete(name: string): Promise<void> {
    await this.#read(async ({ objects }) => {
      const info = await objects.info(name);
      if (info !== null && !info.deleted) await objects.delete(name);
    }, undefined);
  }

  async read(key: string): Promise<StoredRecord | null> {
    const entry = await this.#read(({ records }) => records.get(key), null);
    return entry === null || entry.operation !== 'PUT'
      ? null
      : { text: entry.string(), revision: entry.revision };
  }

  async swap(key: string, text: string, revision: number | null): Promise<number | null> {
    if (Buffer.byteLength(text) > STORE_RECORD_BYTES_MAX)
      throw new RangeError(`the record ${key} is too long`);
    try {
      return await this.#write(({ records }) =>
        withinTime(
          revision === null ? records.create(key, text) : records.update(key, text, revision),
          this.name,
        ),
      );
    } catch (error) {
      if (codeOf(error) === WRONG_LAST_SEQUENCE) return null;
      throw error;
    }
  }

  async keys(): Promise<readonly string[]> {
    return this.#read(async ({ records }) => {
      const keys: string[] = [];
      for await (const key of await records.keys()) keys.push(key);
      return keys;
    }, []);
  }

  async remove(key: string): Promise<void> {
    await this.#read(({ records }) => records.purge(key), undefined);
  }

  /** Ends when its bucket is deleted: the caller looks regularly, too. */
  watch(keys: readonly string[], onChange: () => void): { close(): void } {
    let closed = false;
    let stop = (): void => {};
    void (async () => {
      const { records } = await this.#open();
      const entries = await records.watch({ key: [...keys] });
      stop = () => entries.stop();
      if (closed) stop();
      for await (const _ of entries) if (!closed) onChange();
    })().catch(() => {});
    return {
      close() {
        closed = true;
        stop();
      },
    };
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => null);
    await client?.connection.close();
  }

  /** `missing`: the answer if there is no bucket. */
  async #read<T>(work: (client: Client) => Promise<T>, missing: T): Promise<T> {
    const client = await this.#open();
    try {
      return await withinTime(work(client), this.name);
    } catch (error) {
      if (isMissing(error)) return missing;
      throw this.#unavailable(error);
    }
  }

  async #write<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#open();
    try {
      return await work(client);
    } catch (error) {
      if (codeOf(error) === WRONG_LAST_SEQUENCE) throw error;
      if (!isMissing(error)) throw this.#unavailable(error);
    }
    try {
      await withinTime(client.create(), this.name);
      return await work(client);
    } catch (error) {
      if (codeOf(error) === WRONG_LAST_SEQUENCE) throw error;
      throw this.#unavailable(error);
    }
  }

  #open(): Promise<Client> {
    this.#client ??= withinTime(this.#connect(), this.name).catch((error: unknown) => {
      this.#client = null;
      throw this.#unavailable(error);
    });
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const [{ connect, credsAuthenticator }, { Kvm }, { Objm, setSha256Backend }] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/kv'),
      import('@nats-io/obj'),
    ]);
    setSha256Backend('native');
    const { NATS_CREDS } = process.env;
    const connection = await connect({
      ...connectionOptions(this.#url),
      ...(NATS_CREDS ? { authenticator: credsAuthenticator(readFileSync(NATS_CREDS)) } : {}),
    });
    const [kvm, objm] = [new Kvm(connection), new Objm(connection)];
    const client = {
      connection,
      records: await kvm.open(this.#bucket, { bindOnly: true }),
      objects: await objm.open(this.#bucket, false),
      create: async () => {
        await kvm.create(this.#bucket, { history: 1 });
        await objm.create(this.#bucket, {});
      },
    };
    void connection.closed().then(() => {
      this.#client = null;
    });
    return client;
  }

  #unavailable(cause: unknown): LecternError {
    if (cause instanceof LecternError) return cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new LecternError('store-unavailable', `the store ${this.name} failed: ${reason}`, { cause });
  }
}

/** Credentials are those of the address or of the variables that NATS' own tools read. */
function connectionOptions({ protocol, host, username, password }: URL): NodeConnectionOptions {
  const { NATS_USER, NATS_PASSWORD, NATS_TOKEN, NATS_CA, NATS_CERT, NATS_KEY } = process.env;
  const user = decodeURIComponent(username) || NATS_USER;
  const pass = decodeURIComponent(password) || NATS_PASSWORD;
  const token = user && !pass ? user : NATS_TOKEN;
  const files = {
    ...(NATS_CA ? { caFile: NATS_CA } : {}),
    ...(NATS_CERT ? { certFile: NATS_CERT } : {}),
    ...(NATS_KEY ? { keyFile: NATS_KEY } : {}),
  };
  const isTls = protocol === 'tls:' || Object.keys(files).length > 0;
  return {
    servers: host,
    name: 'lectern',
    timeout: STORE_SILENT_MS_MAX,
    reconnectTimeWait: 250,
    maxReconnectAttempts: -1,
    ...(user && pass ? { user, pass } : token ? { token } : {}),
    ...(isTls ? { tls: files } : {}),
  };
}

function streamOf(chunks: AsyncIterable<Uint8Array>, onChunk: () => void): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      onChunk();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** The client tells a wrong digest, and a connection that was lost, beside the stream. */
async function* checkedChunks(
  data: ReadableStream<Uint8Array>,
  error: Promise<Error | null | undefined>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of data) yield chunk;
  const failure = await error;
  if (failure instanceof Error) throw failure;
}

/** No bucket: an error of the API, or no server that has its stream. */
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
