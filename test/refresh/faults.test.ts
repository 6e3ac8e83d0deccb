/**
 * An upstream in a separate process makes every possible mistake, while a service reads from it several times a second
 * and clients read from the service. The service continues to serve the last good snapshot, and /health is right.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import type { Service } from '../../src/app/service.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { timeForAFault, until } from '../waiting/until.js';
import { startService } from './built.js';
import { type Answer, get, startLoad } from './clients.js';
import { type Behaviour, startUpstream, type Upstream } from './upstream.js';

const INTERVAL_SECONDS = 0.2;

function events(count: number, title: string): object[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T10:00:00Z',
    title,
  }));
}

const json = (count: number, title: string): string => JSON.stringify(events(count, title));
const ndjson = (count: number, title: string): string =>
  events(count, title)
    .map((event) => `${JSON.stringify(event)}\n`)
    .join('');

interface HealthBody {
  readonly status: string;
  readonly snapshot: { readonly id: string; readonly events: number };
  readonly source: {
    readonly state: string;
    readonly lastSuccess: string;
    readonly lastError: string | null;
  };
}

interface Setting {
  readonly upstream: Upstream;
  readonly service: Service;
  readonly authorization: { readonly authorization: string };
  health(): Promise<HealthBody>;
  /** Waits until /health is as described, and returns it. */
  until(name: string, is: (health: HealthBody) => boolean): Promise<HealthBody>;
}

/** Good answers come within these limits, even on a busy machine. */
const LIMITS = { headersMsMax: 1000, idleMsMax: 1000, totalMsMax: 1500 };

async function setUp(t: Test, options: object = {}, limits: object = LIMITS): Promise<Setting> {
  const upstream = await startUpstream();
  t.teardown(() => upstream.close());
  await upstream.behave({ kind: 'serve', body: json(100, 'first') });
  const service = await startService({
    source: { kind: 'http', url: upstream.url, ...limits },
    port: 0,
    dev: true,
    hs256Secret: SECRET,
    refreshSeconds: INTERVAL_SECONDS,
    ...options,
  });
  t.teardown(() => service.close());
  await service.ready;
  const token = hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600 });
  const health = async (): Promise<HealthBody> =>
    JSON.parse((await get(`${service.address.origin}/health`)).text) as HealthBody;
  return {
    upstream,
    service,
    authorization: { authorization: `Bearer ${token}` },
    health,
    until: (_name, is) => until(health, is),
  };
}

interface Fault {
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly state: 'failed' | 'refused';
  readonly lastError: RegExp;
}

const HTML = '<!doctype html><html><body><h1>Under maintenance</h1></body></html>';

const FAULTS: readonly Fault[] = [
  {
    name: 'answers 500',
    behaviour: { kind: 'status', status: 500, body: 'oops' },
    state: 'failed',
    lastError: /500/,
  },
  { name: 'hangs', behaviour: { kind: 'hang' }, state: 'failed', lastError: /no answer came within 1 s/ },
  {
    name: 'trickles',
    behaviour: { kind: 'trickle', body: json(100, 'trickled') },
    state: 'failed',
    lastError: /not read whole within 1\.5 s/,
  },
  {
    name: 'closes in the middle',
    behaviour: { kind: 'cut', body: json(100, 'cut') },
    state: 'failed',
    lastError: /cannot read .*after \d+ of \d+ bytes/,
  },
  {
    name: 'closes in the middle, between two whole records',
    behaviour: { kind: 'cut-chunked', body: ndjson(100, 'cut') },
    state: 'failed',
    lastError: /cannot read .*after \d+ bytes/,
  },
  {
    name: 'refuses connections',
    behaviour: { kind: 'refuse-connections' },
    state: 'failed',
    lastError: /refused|ECONNREFUSED/,
  },
  {
    name: 'sends an empty set',
    behaviour: { kind: 'serve', body: '[]' },
    state: 'refused',
    lastError: /refused: it has no events/,
  },
  {
    name: 'sends garbage',
    behaviour: { kind: 'serve', body: '\u0001\u0002 garbage {{{' },
    state: 'failed',
    lastError: /./,
  },
  {
    name: 'sends a page for people',
    behaviour: { kind: 'serve', body: HTML, headers: { 'content-type': 'text/html' } },
    state: 'failed',
    lastError: /./,
  },
  {
    name: 'sends something else as JSON',
    behaviour: { kind: 'serve', body: '[1, 2, {"id": 3}]' },
    state: 'refused',
    lastError: /it has no events: all 3 records were rejected/,
  },
  {
    name: 'sends half the events',
    behaviour: { kind: 'serve', body: json(50, 'half') },
    state: 'refused',
    lastError: /it has 50 events, 50\.0 % fewer than the 100 being served/,
  },
  {
    name: 'sends many bad records among the good',
    behaviour: { kind: 'serve', body: JSON.stringify([...events(100, 'bad'), ...Array(20).fill({})]) },
    state: 'refused',
    lastError: /20 of 120 records were rejected/,
  },
];

test('reads continue with any faulty upstream, and /health is right', async (t) => {
  const { upstream, service, authorization, until } = await setUp(t);
  let expected = 'first';
  let before = '';
  const problemOf = ({ status, text }: Answer): string | null => {
    if (status !== 200) return `${status} ${text}`;
    const titles = new Set([...text.matchAll(/"title":"([^"]*)"/g)].map(([, title]) => title));
    const [title = 'none'] = titles;
    const good = titles.size === 1 && (title === expected || title === before);
    return good ? null : `the titles ${[...titles].join(', ')} in place of ${expected}`;
  };
  const load = startLoad([`${service.baseUrl}/schedule`], authorization, 2, problemOf, 10);
  let good = await until('first', ({ status }) => status === 'ok');

  for (const [n, { name, behaviour, state, lastError }] of FAULTS.entries()) {
    await upstream.behave(behaviour);
    const bad = await until(
      name,
      ({ source }) => source.state === state && lastError.test(source.lastError ?? ''),
    );
    t.match(bad, { status: 'degraded', source: { state, lastError } }, `${name}: /health says so`);
    t.strictSame(
      [bad.snapshot.id, bad.snapshot.events],
      [good.snapshot.id, good.snapshot.events],
      'and the last good snapshot is served',
    );
    t.notMatch(JSON.stringify(bad), SECRET);

    // From one fault to the next, sometimes with a good state in between, with new or old data.
    if (n % 3 !== 2) continue;
    before = expected;
    if (n % 2 === 0) expected = `after ${n}`;
    await upstream.behave({ kind: 'serve', body: json(100, expected) });
    good = await until(`${name}: is back`, ({ status, snapshot }) => {
      return status === 'ok' && (expected === before || snapshot.id !== bad.snapshot.id);
    });
    t.match(good.source, { state: 'loaded', lastError: null }, `${name}: caught up`);
    t.ok(Date.parse(good.source.lastSuccess) > Date.parse(bad.source.lastSuccess));
  }
  const { answers, problems } = await load.stop();
  t.strictSame(problems, [], 'no read failed');
  t.ok(answers > 100, `${answers} reads`);
});

test('an operator can publish a refused timetable', async (t) => {
  const { upstream, service, until } = await setUp(t);
  await upstream.behave({ kind: 'serve', body: json(10, 'fewer'), headers: { etag: '"fewer"' } });
  await until('refused', ({ source }) => source.state === 'refused');
  await timeForAFault(3 * INTERVAL_SECONDS * 1000);
  const refused = await until('still refused', ({ source }) => source.state === 'refused');
  t.equal(refused.snapshot.events, 100, 'asking again does not let it through');
  await service.timetable.refresh({ force: true });
  const forced = await until('forced', ({ snapshot }) => snapshot.events === 10);
  t.match(forced, { status: 'ok', source: { state: 'loaded', lastError: null } });
});

test('on request, a stale timetable is not served until a new one arrives', async (t) => {
  const staleSecondsMax = 1.5;
  const { upstream, service, authorization, until } = await setUp(t, { staleSecondsMax });
  const url = `${service.baseUrl}/schedule`;
  const built = Date.parse((await until('ok', ({ status }) => status === 'ok')).source.lastSuccess);
  await until('confirmed', ({ source }) => Date.parse(source.lastSuccess) > built);
  t.equal((await get(url, authorization)).status, 200, 'what the upstream confirms does not grow old');

  await upstream.behave({ kind: 'status', status: 500 });
  const failed = await until('failed', ({ source }) => source.state === 'failed');
  const goodUntilMs = Date.parse(failed.source.lastSuccess) + staleSecondsMax * 1000;
  for (;;) {
    const askedMs = Date.now();
    const { status, text, headers } = await get(url, authorization);
    if (status !== 200) {
      t.equal(status, 503);
      t.match(JSON.parse(text), { code: 'snapshot-stale' });
      t.ok(Number(headers['retry-after']) > 0);
      t.ok(Date.now() >= goodUntilMs, 'not before its time');
      break;
    }
    if (askedMs > goodUntilMs + 1000) {
      t.fail('still answered, although it is too old');
      break;
    }
    // It is asked until its time is over.
    await delay(50);
  }
  t.equal((await until('degraded', () => true)).status, 'degraded');
  t.throws(() => service.timetable.find(), { code: 'stale' });

  await upstream.behave({ kind: 'serve', body: json(100, 'first') });
  await until('back', ({ status }) => status === 'ok');
  t.equal((await get(url, authorization)).status, 200);
});

test('a hang is noticed and ended, without configured limits', async (t) => {
  const { upstream, until } = await setUp(t, {}, {});
  await upstream.behave({ kind: 'hang' });
  const hung = await until('hangs', ({ source }) => source.state === 'failed');
  // 3.6 s, or 1.8 times the longest load if that is longer: on a busy machine, loads are slow.
  const [, seconds] = /no answer came within ([\d.]+) s$/.exec(hung.source.lastError ?? '') ?? [];
  t.equal(hung.status, 'degraded');
  t.ok(Number(seconds) >= 3.6 && Number(seconds) < 60, `${seconds} s`);
  // The next request already hangs.
  await timeForAFault(2 * INTERVAL_SECONDS * 1000);
  await upstream.behave({ kind: 'serve', body: json(100, 'back') });
  const back = await until('is back', ({ snapshot }) => snapshot.id !== hung.snapshot.id);
  t.match(back, { status: 'ok', source: { state: 'loaded', lastError: null } });
});
