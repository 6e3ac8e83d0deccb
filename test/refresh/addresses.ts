/** Addresses that fail on demand, and a timetable of them. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { Timetable } from '../../src/app/timetable-interface.js';
import type { SourcePart } from '../../src/base/model/source-state.js';
import type { TimetableOptions } from '../../src/options/option-types.js';
import type { MergedSpec } from '../../src/source/spec.js';
import { openHere } from '../app/open-here.js';

export type Mood = 'good' | 'down' | 'hangs' | 'garbage' | 'cut' | 'later' | 'gone';

export const record = (id: string, title: string): string =>
  `${JSON.stringify({ id, title, time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:00:00Z' })}\n`;

/** The address that may hang, and the longest wait for its answer. */
const HANGING = 2;
const HANGS_MS_MAX = 3000;

/** Addresses with a number as their path; each has two events of its own, and one event that all have. */
export interface Addresses {
  readonly moods: Mood[];
  readonly versions: number[];
  /** The requests since the last call, sorted. */
  asked(): string[];
  readonly spec: MergedSpec;
  nameOf(n: number): string;
}

export async function startAddresses(t: Test, count: number): Promise<Addresses> {
  const moods: Mood[] = Array.from({ length: count }, () => 'good');
  const versions = moods.map(() => 1);
  const requests: string[] = [];
  const answer: Record<Exclude<Mood, 'good'>, (response: ServerResponse) => void> = {
    down: (response) => response.writeHead(500).end('down'),
    hangs: () => {},
    garbage: (response) => response.end('<html><body>Please sign in</body></html>'),
    cut: (response) => {
      response.writeHead(200, { 'content-length': '10000' });
      response.write(record('cut', 'must not be served'), () => response.destroy());
    },
    later: (response) => response.writeHead(503, { 'retry-after': '3600' }).end(),
    gone: (response) => response.destroy(),
  };
  const server = createServer((request, response) => {
    const n = Number(request.url?.slice(1).split('?')[0]);
    const mood = moods[n] as Mood;
    const etag = `"${versions[n]}"`;
    const isSame = mood === 'good' && request.headers['if-none-match'] === etag;
    requests.push(`${n} ${mood === 'good' ? (isSame ? 304 : 200) : mood}`);
    if (mood !== 'good') return answer[mood](response);
    response.setHeader('etag', etag);
    if (isSame) return response.writeHead(304).end();
    const title = `${n} v${versions[n]}`;
    return response.end(record(`a${n}`, title) + record(`b${n}`, title) + record('all', title));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    moods,
    versions,
    asked: () => requests.splice(0).sort(),
    spec: {
      kind: 'merged',
      specs: moods.map(
        (_, n) =>
          ({
            kind: 'http',
            url: `${origin}/${n}?token=secret`,
            // Only this address may hang: on a busy machine the others need longer than a test wants to wait.
            ...(n === HANGING && { headersMsMax: HANGS_MS_MAX }),
          }) as const,
      ),
    } as const,
    nameOf: (n: number) => `${origin}/${n}?token=…`,
  };
}

export function open(t: Test, options: TimetableOptions): { timetable: Timetable; told: string[] } {
  const timetable = openHere({
    refreshSeconds: 3600,
    watch: false,
    identifiers: 'any',

    ...options,
  });
  t.teardown(() => timetable.close());
  const told: string[] = [];
  timetable.on('part', ({ state, lastError }) =>
    told.push(lastError === null ? state : `${state}: ${lastError.replace(/^cannot read \S+: /, '')}`),
  );
  return { timetable, told };
}

export const titles = (timetable: Timetable): string[] =>
  timetable.all().events.map(({ id, title }) => `${id} ${title}`);
export const partsOf = (timetable: Timetable): readonly SourcePart[] => timetable.source.parts?.listed ?? [];
export const states = (timetable: Timetable): string[] => partsOf(timetable).map(({ state }) => state);
