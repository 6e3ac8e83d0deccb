/** Services with several threads, from the build, and facts about their threads. */
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { Logger } from '../../src/http/logger.js';

export interface LogLine {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger that keeps all records. */
export function keptLog(): { readonly log: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const line =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push({ level, fields: fields as LogLine['fields'], message });
    };
  return { log: { info: line('info'), warn: line('warn'), error: line('error') }, lines };
}

/** Every serving thread started from now on that has not ended, in the order of their first messages. */
export function watchThreads(t: { teardown(end: () => void): void }): Worker[] {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): void => {
    // Threads that load or patch also start and end, at times of their own.
    const onMessage = ({ kind }: { readonly kind?: string }): void => {
      if (kind !== 'listening' && kind !== 'failed') return;
      worker.off('message', onMessage);
      threads.push(worker);
      worker.once('exit', () => threads.splice(threads.indexOf(worker), 1));
    };
    worker.on('message', onMessage);
  };
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  return threads;
}

/** Makes a thread throw an uncaught error. */
export function makeThrow(thread: Worker | undefined): void {
  thread?.postMessage({ kind: 'nonsense' });
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The request uses a separate connection, or one of the agent's. */
export function get(url: string, headers: Record<string, string> = {}, agent?: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request(url, { headers, agent: agent ?? false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () =>
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) }),
      );
    });
    req.on('error', reject);
    req.end();
  });
}

/** Connections that have sent one request and stay open. Each removes itself when closed. */
export async function openConnections(count: number, port: number, path: string): Promise<Set<Socket>> {
  const open = new Set<Socket>();
  await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<void>((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () =>
            socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`),
          );
          open.add(socket);
          socket.once('data', () => resolve());
          socket.once('error', reject);
          socket.once('close', () => open.delete(socket));
        }),
    ),
  );
  return open;
}
