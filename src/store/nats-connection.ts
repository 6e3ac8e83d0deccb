import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { StreamAPI } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { ObjectStore } from '@nats-io/obj';
import type { NatsConnection } from '@nats-io/transport-node';
import { STORE_LEAVE_MS_MAX, STORE_SILENT_MS_MAX } from '../limits.js';
import { guardSocket } from './nats-guard.js';
import { natsOptions, plainError } from './nats-options.js';
import { withinTime } from './silent-reads.js';

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
    const [transport, { NodeTransport }, { Kvm }, { Objm, setSha256Backend }] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/transport-node/lib/node_transport.js'),
      import('@nats-io/kv'),
      import('@nats-io/obj'),
    ]);
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

/** Also guards what comes after TLS. Connections that the embedding program makes with the same client stay as they are. */
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
