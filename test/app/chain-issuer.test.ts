/** One Lectern behind another, with short-lived tokens of a real issuer. */
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { CLIENT, createRealIssuer } from '../attack/real-issuer.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { size } from '../hard/size.js';
import { MemorySource, startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';
import { get, keptLog } from './threads.js';

const TOKEN_SECONDS = size(3, 60);
/** Verification tolerates five seconds, so short lives are run longer. `LECTERN_CHAIN_LIVES=120` gives two hours. */
const LIVES = Number(process.env.LECTERN_CHAIN_LIVES ?? size(4, 5));
const RUN_MS = LIVES * TOKEN_SECONDS * 1000;
const record = (n: number, title: string): object => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: '2026-10-05T08:00:00Z',
  endTime: '2026-10-05T09:00:00Z',
  title,
});

test(`a chain needs no help for ${LIVES} lives of its tokens, of ${TOKEN_SECONDS} s each`, async (t) => {
  const issuer = await createRealIssuer(TOKEN_SECONDS);
  await issuer.start('key 0');
  t.teardown(() => issuer.stop());
  const source = new MemorySource(Array.from({ length: 50 }, (_, n) => record(n, 'first')));
  const first = await startService({
    source,
    port: 0,
    jwks: issuer.keysAddress,
    issuer: issuer.address,
    audience: 'timetable',
    tokenType: 'at+jwt',
  });
  t.teardown(() => first.close());
  await first.ready;
  const { log, lines } = keptLog();
  const second = await startService(
    {
      source: {
        kind: 'http',
        url: `${first.baseUrl}/schedule/all`,
        clientCredentials: {
          tokenUrl: issuer.tokenAddress,
          clientId: CLIENT.id,
          clientSecret: CLIENT.secret,
        },
      },
      port: 0,
      refreshSeconds: 0.5,
      hs256Secret: SECRET,
    },
    { log },
  );
  t.teardown(() => second.close());
  await second.ready;
  const loads: Record<string, number> = {};
  second.timetable.on('loaded', ({ result }) => {
    loads[result] = (loads[result] ?? 0) + 1;
  });
  const reads = { all: 0, failed: 0 };
  let isOver = false;
  const read = async (): Promise<void> => {
    const authorization = `Bearer ${hs256({ sub: 'a', exp: 4_000_000_000 })}`;
    while (!isOver) {
      const { status } = await get(`${second.baseUrl}/schedule?limit=5`, { authorization });
      reads.all++;
      if (status !== 200) reads.failed++;
      // The client pauses between requests.
      await delay(5);
    }
  };
  const reading = read();
  const lagsMs: number[] = [];
  const untilMs = performance.now() + RUN_MS;
  for (let n = 0; performance.now() < untilMs || issuer.issued < LIVES; n++) {
    const title = `change ${n}`;
    source.apply({ upsert: [record(n % 50, title)] });
    const beganMs = performance.now();
    await until(() => second.timetable.all().events.some((event) => event.title === title));
    lagsMs.push(performance.now() - beganMs);
    // Changes come with pauses.
    await delay(100);
  }
  isOver = true;
  await reading;
  t.equal(loads.failed, undefined, JSON.stringify(loads));
  t.equal(reads.failed, 0, `${reads.all} reads`);
  t.strictSame(second.timetable.all().events, first.timetable.all().events);
  lagsMs.sort((a, b) => a - b);
  const shown = [lagsMs[lagsMs.length >> 1], lagsMs.at(-1)].map((ms) => Math.round(ms ?? 0)).join(' and ');
  t.comment(`${lagsMs.length} changes with ${issuer.issued} tokens; median and longest lag ${shown} ms`);
  t.notOk(JSON.stringify(lines).includes(CLIENT.secret), 'no secret in the log');
});
