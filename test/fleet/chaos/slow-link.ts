/** A link between clients and a server that can be slow, or cut. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export class SlowLink {
  readonly #port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Bytes in a second towards the clients; 0: no bound. */
  bytesPerSecond = 0;
  /** Milliseconds that each chunk takes. */
  latencyMs = 0;
  isCut = false;

  constructor(port: number) {
    this.#port = port;
    this.#server = createServer((client) => this.#join(client));
  }

  /** The port of clients. */
  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Ends all connections, and refuses new ones until it is mended. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    Object.assign(this, { isCut: false, bytesPerSecond: 0, latencyMs: 0 });
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(client: Socket): void {
    if (this.isCut) return void client.destroy();
    const server = connect(this.#port, '127.0.0.1');
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    void this.#pass(server, client).catch(() => client.destroy());
  }

  async #pass(from: Socket, to: Socket): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      const ms = this.latencyMs + (this.bytesPerSecond && (chunk.length / this.bytesPerSecond) * 1000);
      // The slowness of the link.
      if (ms > 0) await delay(ms);
      if (!to.write(chunk)) await once(to, 'drain');
    }
    to.end();
  }
}
