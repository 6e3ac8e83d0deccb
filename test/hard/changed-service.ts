/** A service whose timetable was replaced while it served, and requests for the changes. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AUTHORIZATION, type ServiceProcess, startWarmService, timetableFile } from './http-service.js';

const HOST = '127.0.0.1';
const PUBLISHED_MS_MAX = 60_000;

/** The id of the served snapshot. */
export async function snapshotId({ port }: ServiceProcess): Promise<string> {
  const answer = await fetch(`http://${HOST}:${port}/api/v1/schedule/types`, {
    headers: { Authorization: AUTHORIZATION },
  });
  await answer.arrayBuffer();
  return /^W\/"([\w-]{22})-/.exec(answer.headers.get('etag') ?? '')?.[1] ?? '';
}

/**
 * Starts a service with `events` events, and replaces its timetable once for each of `changes`.
 *
 * @param changes for each replacement: one event in this many gets another title
 * @returns the service with the ids of all earlier snapshots, oldest first
 */
export async function startChangedService(
  teardown: (end: () => unknown) => unknown,
  events: number,
  changes: readonly number[],
  options: readonly string[] = [],
): Promise<{ readonly service: ServiceProcess; readonly past: readonly string[] }> {
  const source = await timetableFile(teardown, events);
  const service = await startWarmService(teardown, source, options);
  const past: string[] = [];
  for (const [n, every] of changes.entries()) {
    past.push(await snapshotId(service));
    await changeTitles(source, n, every);
    await untilPublished(service, past.at(-1) ?? '');
  }
  // The previous snapshot and the memory of the build are released.
  await delay(1000);
  return { service, past };
}

/** One of `every` events gets another title. */
export async function changeTitles(source: string, n: number, every: number): Promise<void> {
  const lines = (await readFile(source, 'utf8')).split('\n');
  const changed = lines.map((line, at) => {
    if (line === '' || at % every !== 0) return line;
    const event = JSON.parse(line) as { readonly title: string };
    return JSON.stringify({ ...event, title: `${n} ${event.title}` });
  });
  const written = join(dirname(source), 'written.ndjson');
  await writeFile(written, changed.join('\n'));
  await rename(written, source);
}

export async function untilPublished(service: ServiceProcess, before: string): Promise<void> {
  const endMs = performance.now() + PUBLISHED_MS_MAX;
  while ((await snapshotId(service)) === before) {
    if (performance.now() > endMs) throw new Error('the changed timetable was not published');
    // Each look is a request, so there are pauses between them.
    await delay(100);
  }
}

export interface Asked {
  readonly method: 'GET' | 'HEAD';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Told {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Length of the body. */
  readonly bytes: number;
}

export function ask(
  { port }: ServiceProcess,
  { method, path, headers }: Asked,
  agent?: Agent,
): Promise<Told> {
  return new Promise((resolve, reject) => {
    const all = { Authorization: AUTHORIZATION, ...headers };
    const req = request({ host: HOST, port, method, path, headers: all, agent }, (res) => {
      let bytes = 0;
      res.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, bytes }));
      res.on('error', reject);
    });
    req.on('error', reject).end();
  });
}

const ROUNDS = 5;

/** The service's processor time for one such request: the least mean of several rounds, in ms. */
export async function cpuPerRequestMs(
  service: ServiceProcess,
  asked: Asked,
  requests: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const round = async (): Promise<number> => {
    const beforeMs = await service.cpuMs();
    for (let n = 0; n < requests; n++) await ask(service, asked, agent);
    return ((await service.cpuMs()) - beforeMs) / requests;
  };
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n <= ROUNDS; n++) least = Math.min(least, await round());
  agent.destroy();
  return least;
}
