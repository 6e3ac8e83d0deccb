/** The issuer is unreachable, and clients send tokens of unknown keys. */
import { test } from 'tap';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { leastGapMs, PLAN, setUp } from './issuer.js';

const OUTAGE_MS = 10 * 60_000;
const FORGED = size(10_000, 100_000);

for (const [cooldownMs, figure] of [
  [1000, 'outage-short'],
  [PLAN.cooldownMs, 'outage-long'],
] as const) {
  test(`the issuer is unreachable for 10 minutes: ${FORGED} forged kids, a cooldown of ${cooldownMs} ms`, async (t) => {
    const { clock, issuer, lines, start } = setUp({ cooldownMs }, ['a', 'b']);
    const { ask } = start();
    await clock.advance(0);
    const users = Array.from({ length: 100 }, (_, n) => issuer.token(n % 2 === 0 ? 'a' : 'b', { n }));
    const [forged = ''] = [issuer.token('forged')];
    issuer.failure = new Error('away');
    const askedBefore = issuer.askedMs.length;
    const failed: string[] = [];
    let valid = 0;
    let accepted = 0;
    const steps = 600;
    for (let step = 0; step < steps; step++) {
      await clock.advance(OUTAGE_MS / steps);
      for (let n = 0; n < FORGED / steps; n++) {
        const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: `forged ${step} ${n}` })).toString(
          'base64url',
        );
        const outcome = await ask(forged.replace(/^[^.]+/, header));
        if (outcome === 'ok' || outcome === 'remembered') accepted++;
      }
      const user = users[step % users.length] as string;
      const fresh = issuer.token('a', { step });
      for (const token of [user, fresh]) {
        const outcome = await ask(token);
        valid++;
        if (outcome !== 'ok' && outcome !== 'remembered') failed.push(outcome);
      }
    }
    t.same(failed, [], `${valid} valid requests are answered`);
    t.equal(accepted, 0);
    const asked = issuer.askedMs.length - askedBefore;
    t.ok(asked > 0 && asked <= OUTAGE_MS / cooldownMs, `${asked} fetches`);
    t.ok(leastGapMs(issuer.askedMs) >= cooldownMs, `never two within ${cooldownMs} ms`);
    if (HARD) {
      recordFigure(
        figure,
        `${failed.length} of ${valid} good requests failed, ${accepted} of ${FORGED} forged kids were accepted, ${asked} fetches in 10 minutes with a cooldown of ${cooldownMs / 1000} s`,
        { asked, leastGapMs: leastGapMs(issuer.askedMs) },
      );
    }
    issuer.failure = null;
    issuer.publish('b', 'c');
    await clock.advance(cooldownMs * 1.2);
    t.equal(await ask(issuer.token('c')), 'ok', 'and a key that came meanwhile is taken up');
    t.equal(await ask(users[0] as string), 'no-key', 'one that went is not');
    t.same(
      lines.map(({ message }) => message),
      ['key set taken', 'cannot fetch the key set', 'key set taken', 'key set can be fetched again'],
    );
  });
}

test('forged kids cause at most one fetch per cooldown while the issuer answers, too', async (t) => {
  const { clock, issuer, start } = setUp({ cooldownMs: 1000 });
  const { ask } = start();
  await clock.advance(0);
  const good = issuer.token('a');
  for (let n = 0; n < 2000; n++) {
    await clock.advance(50);
    t.equal(await ask(issuer.token(`forged ${n % 7}`)), 'no-key');
    const outcome = await ask(good);
    if (outcome !== 'ok' && outcome !== 'remembered') t.fail(outcome);
  }
  t.ok(leastGapMs(issuer.askedMs) >= 1000);
  t.ok(issuer.askedMs.length <= 101, `${issuer.askedMs.length} fetches in 100 s`);
});

test('a slow issuer does not delay tokens with a known key', async (t) => {
  const { clock, issuer, start } = setUp();
  const { ask, remote } = start();
  await clock.advance(0);
  await clock.advance(PLAN.cooldownMs);
  let release = (): void => {};
  issuer.hold = new Promise((resolve) => {
    release = resolve;
  });
  const waiting = ask(issuer.token('new'));
  t.equal(await ask(issuer.token('a')), 'ok', 'answered while the fetch is under way');
  const both = Promise.all([waiting, ask(issuer.token('newer'))]);
  release();
  t.same(await both, ['no-key', 'no-key']);
  t.equal(issuer.askedMs.length, 2, 'one fetch for both');
  remote.close();
});
