import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { inspect } from 'node:util';
import type { Test } from 'tap';
import { until } from '../../waiting/until.js';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.js';

/** Lectern's own server in the role of the upstream. */
export interface Upstream {
  /** The origin, without a slash at the end. */
  readonly origin: string;
  /** Every request so far. */
  readonly requests: readonly IncomingMessage[];
  /** Paths of these requests, with their query. */
  readonly paths: readonly string[];
  /** Connections opened so far, and those still open. */
  readonly connections: { readonly opened: number; readonly open: number };
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** @param answers one function for all paths, or one for each; an unknown path is 404 */
export async function startUpstream(
  t: Test,
  answers: Answer | Readonly<Record<string, Answer>>,
  options: { readonly secure?: boolean } = {},
): Promise<Upstream> {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  let opened = 0;
  const listener: RequestListener = (request, response) => {
    requests.push(request);
    const path = request.url?.split('?')[0] ?? '';
    const answer = typeof answers === 'function' ? answers : answers[path];
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  };
  const server =
    options.secure === true
      ? createSecureServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, listener)
      : createServer(listener);
  server.on('connection', (socket: Socket) => {
    opened++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `${options.secure === true ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    get paths() {
      return requests.map((request) => request.url ?? '');
    },
    get connections() {
      return { opened, open: sockets.size };
    },
  };
}

/** Waits until no connection is open. */
export async function allClosed(upstream: Upstream): Promise<void> {
  await until(
    () => upstream.connections.open,
    (seen) => seen === 0,
  );
}

/** Everything that an error could show in a log: message, stack, causes and properties. */
export function shown(error: unknown): string {
  return inspect(error, { depth: 10, showHidden: true });
}

/** This many of the simplest records, `{"n":0}` and so on. */
export function records(count: number, from = 0): { n: number }[] {
  return Array.from({ length: count }, (_, i) => ({ n: from + i }));
}

export function ndjson(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}
