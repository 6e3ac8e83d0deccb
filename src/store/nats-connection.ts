import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { readFileSync, statSync } from 'node:fs';
import { isIP, type Socket } from 'node:net';
import type { StreamAPI } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { ObjectStore } from '@nats-io/obj';
import type { Authenticator, NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node';
import { fileFault } from '../base/errors.js';
import { onFirstUse } from '../base/files/load-on-use.js';
import {
  STORE_LEAVE_MS_MAX,
  STORE_LINE_BYTES_MAX,
  STORE_MESSAGE_BYTES_MAX,
  STORE_OPERATIONS_MAX,
  STORE_SILENT_MS_MAX,
} from '../base/limits.js';
import { monotonicMs } from '../base/model/clock.js';
import { withinTime } from './store.js';

const loadClient = onFirstUse(() =>
  Promise.all([
    import('@nats-io/transport-node'),
    import('@nats-io/transport-node/lib/node_transport.js'),
    import('@nats-io/kv'),
    import('@nats-io/obj'),
  ]),
);

/** A connection with two buckets of the same name: one for records and one for objects. */
export interface NatsClient {
  readonly connection: NatsConnection;
  readonly records: KV;
  readonly objects: ObjectStore;
  /** The streams in which both buckets are kept. */
  readonly streams: StreamAPI;
  /** Makes both buckets, if they do not exist. `lost`: a stream to delete first. */
  create(lost?: string | null): Promise<void>;
}

/**
 * The connection of a store: made on first use, and kept through restarts of the server. After `close()`, no
 * connection is made again, and all sockets are closed.
 */
export class NatsLink {
  readonly #url: URL;
  readonly #bucket: string;
  readonly #name: string;
  readonly #servers: readonly string[];
  readonly #sockets = new OwnSockets();
  #client: Promise<NatsClient> | null = null;
  #made: NatsConnection | null = null;
  readonly #closing = new AbortController();

  /**
   * @param name of the store, for errors
   * @param servers hosts of one cluster; the credentials of `url` are for all of them
   */
  constructor(url: URL, bucket: string, name: string, servers: readonly string[] = [url.host]) {
    this.#url = url;
    this.#bucket = bucket;
    this.#name = name;
    this.#servers = servers;
  }

  /** Throws if the server does not answer, and after `close()`. */
  async open(): Promise<NatsClient> {
    if (this.#closing.signal.aborted) throw new Error('it is closed');
    this.#client ??= this.#openAnew();
    return this.#client;
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    const closed = this.#made?.close() ?? Promise.resolve();
    await withinTime(closed, this.#name, STORE_LEAVE_MS_MAX).catch(() => {});
    // Also ends an unfinished connection attempt.
    this.#sockets.close();
  }

  async #openAnew(): Promise<NatsClient> {
    const connecting = this.#sockets.run(() => this.#connect());
    try {
      const client = await withinTime(
        connecting,
        this.#name,
        STORE_SILENT_MS_MAX,
        () => {},
        this.#closing.signal,
      );
      this.#made = client.connection;
      void client.connection.closed().then(() => {
        this.#client = null;
        this.#made = null;
      });
      return client;
    } catch (error) {
      this.#client = null;
      // If the server answers later, that connection is closed.
      void connecting.then(({ connection }) => connection.close()).catch(() => {});
      this.#sockets.destroy();
      throw error;
    }
  }

  async #connect(): Promise<NatsClient> {
    const [transport, { NodeTransport }, { Kvm }, { Objm, setSha256Backend }] = await loadClient();
    setSha256Backend('native');
    guardTls(NodeTransport);
    const connection = await this.#dial(transport);
    try {
      const [kvm, objm] = [new Kvm(connection), new Objm(connection)];
      const { streams } = await objm.js.jetstreamManager();
      return {
        connection,
        records: await kvm.open(this.#bucket, { bindOnly: true }),
        objects: await objm.open(this.#bucket, false),
        streams,
        create: async (lost = null) => {
          if (lost !== null) await streams.delete(lost);
          await kvm.create(this.#bucket, { history: 1 });
          await objm.create(this.#bucket, {});
        },
      };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #dial(transport: typeof import('@nats-io/transport-node')): Promise<NatsConnection> {
    try {
      return await transport.connect(natsOptions(this.#url, this.#servers, transport));
    } catch (error) {
      throw plainError(error);
    }
  }
}

const owners = new AsyncLocalStorage<OwnSockets>();
// Node reports a socket in the asynchronous context that made it.
subscribe('net.client.socket', (message) => {
  owners.getStore()?.add((message as { readonly socket: Socket }).socket);
});

type Transport = Pick<
  typeof import('@nats-io/transport-node/lib/node_transport.js').NodeTransport,
  'prototype'
>;
let isTlsGuarded = false;

/** Guards the bytes inside TLS, too. Other connections of an embedding program with the same client are not guarded. */
function guardTls({ prototype }: Transport): void {
  if (isTlsGuarded) return;
  isTlsGuarded = true;
  const { startTLS } = prototype;
  prototype.startTLS = async function (this: typeof prototype) {
    const socket = await startTLS.call(this);
    if (owners.getStore() !== undefined) guardSocket(socket);
    return socket;
  };
}

/**
 * The sockets of one connection, including those of its attempts to reconnect. The client forgets sockets
 * without a timely answer, and sockets of an attempt during which the client is closed. These sockets would
 * keep the process alive.
 */
class OwnSockets {
  readonly #sockets = new Set<Socket>();
  #closed = false;

  /** Adds the sockets that `work` opens, now or later. */
  run<T>(work: () => T): T {
    return owners.run(this, work);
  }

  add(socket: Socket): void {
    guardSocket(socket);
    // A listener of `close` would not help: the client removes all listeners.
    for (const each of this.#sockets) if (each.destroyed) this.#sockets.delete(each);
    this.#sockets.add(socket);
    if (this.#closed) setImmediate(() => socket.destroy());
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Sockets that are opened later are destroyed, too. */
  close(): void {
    this.#closed = true;
    this.destroy();
  }
}

const NEW_LINE = 10;
const NEW_LINE_BYTES = 2;
const EMPTY = Buffer.alloc(0);
/** MSG and HMSG, in either case. */
const IS_MESSAGE = /^h?msg\s/i;
/** The client answers a PING and parses an INFO. An honest server sends a few of them a minute. */
const CONTROL_COST = 500;

/**
 * Checks what a server sends before the client of NATS sees it: the client collects lines and messages of any length,
 * and answers any number of PING. It gets whole messages, because it collects the pieces of one in growing buffers.
 */
export class NatsGuard {
  readonly #now: () => number;
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** Bytes of the present message that have not come. */
  #left = 0;
  /** Whether the next line ends a message, and so must be empty: else the client would read on where this guard does not. */
  #isEnd = false;
  /** The beginning of a line with its message, and room for the rest. */
  #held: Buffer = EMPTY;
  #heldBytes = 0;
  #operationsLeft: number = STORE_OPERATIONS_MAX;
  #spentMs: number;

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
    this.#spentMs = now();
  }

  /**
   * @returns the lines and messages that end in this chunk; the rest is held back
   * @throws Error if the server sends more than an honest one
   */
  check(chunk: Buffer): Buffer {
    let whole = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const bytes = Math.min(this.#left, chunk.length - at);
        this.#left -= bytes;
        at += bytes;
        continue;
      }
      const end = chunk.indexOf(NEW_LINE, at);
      const to = end === -1 ? chunk.length : end + 1;
      this.#lineBytes += to - at;
      if (this.#lineBytes > STORE_LINE_BYTES_MAX)
        throw new Error(`the server sent a line of more than ${STORE_LINE_BYTES_MAX} bytes`);
      this.#line.push(chunk.subarray(at, to));
      at = to;
      if (end === -1) continue;
      this.#endLine();
      if (!this.#isEnd) whole = at;
    }
    if (whole === chunk.length && this.#heldBytes === 0) return chunk;
    this.#hold(chunk.subarray(0, whole), 0);
    const ended = whole === 0 ? EMPTY : this.#held.subarray(0, this.#heldBytes);
    if (whole > 0) [this.#held, this.#heldBytes] = [EMPTY, 0];
    this.#hold(chunk.subarray(whole), this.#left + NEW_LINE_BYTES);
    return ended;
  }

  /** @param more bytes that will follow */
  #hold(piece: Buffer, more: number): void {
    const bytes = this.#heldBytes + piece.length;
    if (bytes > this.#held.length) {
      const longer = Buffer.allocUnsafeSlow(Math.max(bytes + more, 2 * this.#held.length));
      this.#held.copy(longer, 0, 0, this.#heldBytes);
      this.#held = longer;
    }
    piece.copy(this.#held, this.#heldBytes);
    this.#heldBytes = bytes;
  }

  #endLine(): void {
    const line = Buffer.concat(this.#line).toString('latin1');
    this.#line = [];
    this.#lineBytes = 0;
    if (this.#isEnd) {
      this.#isEnd = false;
      if (line !== '\r\n') throw new Error('the server sent a message that is longer than it says');
      return;
    }
    const isMessage = IS_MESSAGE.test(line);
    this.#spend(isMessage ? 1 : CONTROL_COST);
    if (!isMessage) return;
    const bytes = Number(line.trimEnd().split(/\s/).at(-1));
    if (!(bytes <= STORE_MESSAGE_BYTES_MAX))
      throw new Error(`the server sent a message of more than ${STORE_MESSAGE_BYTES_MAX} bytes`);
    this.#left = bytes;
    this.#isEnd = true;
  }

  /** Allows STORE_OPERATIONS_MAX operations at once, and as many each second. */
  #spend(cost: number): void {
    const nowMs = this.#now();
    const gained = (STORE_OPERATIONS_MAX * (nowMs - this.#spentMs)) / 1000;
    this.#operationsLeft = Math.min(STORE_OPERATIONS_MAX, this.#operationsLeft + gained) - cost;
    this.#spentMs = nowMs;
    if (this.#operationsLeft < 0)
      throw new Error(
        `the server sent more than ${STORE_OPERATIONS_MAX / CONTROL_COST} control lines or ${STORE_OPERATIONS_MAX} messages a second`,
      );
  }
}

/** Ends the connection if its server sends too much. All bytes of a socket come through `push`. */
function guardSocket(socket: Socket): void {
  const guard = new NatsGuard();
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(null);
    let whole: Buffer;
    try {
      whole = guard.check(chunk);
    } catch (error) {
      // The client sometimes has no listener, and an error without a listener would end the process.
      socket.on('error', () => {}).destroy(error as Error);
      return false;
    }
    return whole.length === 0 || push(whole);
  };
}

/** The part of the client that turns files into credentials. */
interface Authenticators {
  credsAuthenticator(file: () => Uint8Array): Authenticator;
  nkeyAuthenticator(seed: () => Uint8Array): Authenticator;
}

/**
 * Credentials and certificates are those of the address, or of the variables that NATS' own tools read. Each
 * connection reads the files again.
 *
 * @throws Error if a file that one of these variables names cannot be used
 */
function natsOptions(
  { protocol, hostname, username, password }: URL,
  servers: readonly string[],
  { credsAuthenticator, nkeyAuthenticator }: Authenticators,
): NodeConnectionOptions {
  const { NATS_USER, NATS_PASSWORD, NATS_TOKEN, NATS_CREDS, NATS_NKEY } = process.env;
  const user = decodeURIComponent(username) || NATS_USER;
  const pass = decodeURIComponent(password) || NATS_PASSWORD;
  const token = user && !pass ? user : NATS_TOKEN;
  const files = tlsFiles();
  // The client checks the certificate of an IP address against the name localhost, unless told the address,
  // and it takes only one address.
  const address = { host: hostname.replace(/^\[|\]$/g, '') };
  const isAddress = servers.length === 1 && isIP(address.host) !== 0;
  const isTls = protocol === 'tls:' || Object.keys(files).length > 0;
  return {
    servers: [...servers],
    name: 'lectern',
    timeout: STORE_SILENT_MS_MAX,
    reconnectTimeWait: 250,
    maxReconnectAttempts: -1,
    ...(user && pass ? { user, pass } : token ? { token } : {}),
    ...(NATS_NKEY ? { authenticator: nkeyAuthenticator(reading('NATS_NKEY', (text) => text.trim())) } : {}),
    ...(NATS_CREDS ? { authenticator: credsAuthenticator(reading('NATS_CREDS')) } : {}),
    ...(isTls ? { tls: { ...files, ...(isAddress ? address : {}) } } : {}),
  };
}

/** Reads a file for each connection. If the file cannot be read now, its last content is used. */
function reading(variable: string, clean = (text: string): string => text): () => Uint8Array {
  let last = fileOf(variable);
  return () => {
    try {
      last = fileOf(variable);
    } catch {
      // The server decides whether the last content is still good.
    }
    return Buffer.from(clean(last));
  };
}

/** The client reads these files for each connection. */
function tlsFiles(): { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string } {
  const { NATS_CA, NATS_CERT, NATS_KEY } = process.env;
  for (const name of ['NATS_CA', 'NATS_CERT']) if (process.env[name]) fileOf(name, 'CERTIFICATE');
  if (NATS_KEY) fileOf('NATS_KEY', 'PRIVATE KEY');
  return {
    ...(NATS_CA ? { caFile: NATS_CA } : {}),
    ...(NATS_CERT ? { certFile: NATS_CERT } : {}),
    ...(NATS_KEY ? { keyFile: NATS_KEY } : {}),
  };
}

/** @param pem content that the file must have; the client would silently ignore a file without it */
function fileOf(variable: string, pem?: string): string {
  const path = process.env[variable] ?? '';
  let text: string;
  try {
    // The client blocks, too, when it reads a pipe.
    if (!statSync(path).isFile()) throw new Error('it is not a regular file');
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`the file ${path} of ${variable} cannot be read: ${fileFault(cause)}`, { cause });
  }
  if (pem !== undefined && !text.includes(`${pem}-----`))
    throw new Error(`the file ${path} of ${variable} is not a ${pem.toLowerCase()} as PEM`);
  return text;
}

/** Meanings of the client's errors, for operators. No meaning names a secret. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [
    /authorization violation|authentication/i,
    'the server refused the credentials: check user and password, token, NATS_CREDS or NATS_NKEY',
  ],
  [
    /parse credentials|nkeys: |invalid (?:seed|prefix|checksum|encoding|public key)/i,
    'the file of NATS_CREDS or NATS_NKEY holds no credentials',
  ],
  [
    /self.signed|altnames|unable to (?:verify|get)|certificate has expired/i,
    'the certificate of the server is not trusted: NATS_CA must name the file of its authority, and the host of the address must be a name in the certificate',
  ],
  [/does not support 'tls'/i, 'the server has no TLS: use nats:// without NATS_CA, NATS_CERT and NATS_KEY'],
];

/** A clear sentence for an error of connecting. Other errors stay as they are. */
function plainError(error: unknown): unknown {
  const text = error instanceof Error ? error.message : String(error);
  const meaning = MEANINGS.find(([pattern]) => pattern.test(text))?.[1];
  return meaning === undefined ? error : new Error(meaning, { cause: error });
}
