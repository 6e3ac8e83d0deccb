import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

interface StreamProxy {
  readonly url: string;
  /** The clients' connections with a stream of changes. */
  readonly streams: ReadonlySet<Socket>;
}

/**
 * A proxy in front of a server.
 *
 * @param begun called when a client asks for a stream of changes
 * @param answer changes what the server sends on a connection with a stream
 */
export async function streamProxy(
  t: Test,
  port: number,
  { begun = () => {}, answer = (data) => data }: { begun?(): void; answer?(data: Buffer): Buffer } = {},
): Promise<StreamProxy> {
  const streams = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    client.on('data', (data) => {
      if (data.includes('START_REPLICATION')) {
        streams.add(client);
        begun();
      }
      server.write(data);
    });
    server.on('data', (data) => client.write(streams.has(client) ? answer(data) : data));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => {
        streams.delete(client);
        other.destroy();
      });
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  const { port: own } = proxy.address() as AddressInfo;
  return { url: `postgres://postgres@127.0.0.1:${own}/postgres?sslmode=disable`, streams };
}
