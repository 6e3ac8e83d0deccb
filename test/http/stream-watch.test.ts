import fc from 'fast-check';
import { test } from 'tap';
import { StreamWatch, type Watched } from '../../src/http/event-streams.js';

const STEP_MS = 100;

interface Known extends Watched {
  isUnsure: boolean;
}

const action = fc.record({
  kind: fc.constantFrom('add', 'delete', 'wrote', 'taken'),
  which: fc.nat({ max: 11 }),
  endsAtMs: fc.nat({ max: 1000 }),
});

test('after any sequence of calls, a look finds the same streams as a search of all streams', (t) => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), fc.nat({ max: 1200 }), (actions, clockMs) => {
      const watch = new StreamWatch<Known>(STEP_MS);
      const all: Known[] = [];
      for (const [nowMs, { kind, which, endsAtMs }] of actions.entries()) {
        const stream = all[which];
        if (kind === 'add') {
          const added = { endsAtMs, wroteAtMs: nowMs, isUnsure: false };
          all.push(added);
          watch.add(added);
        } else if (stream === undefined) continue;
        else if (kind === 'delete') {
          all.splice(which, 1);
          watch.delete(stream);
        } else {
          stream.isUnsure = kind === 'wrote';
          if (kind === 'wrote') watch.wrote(stream, nowMs);
          else watch.taken(stream);
        }
      }
      const same = (found: Iterable<Known>, expected: Known[]): void =>
        void t.strictSame(new Set(found), new Set(expected));
      same(
        watch.unsure(),
        all.filter((each) => each.isUnsure),
      );
      const sinceMs = actions.length / 2;
      same(
        watch.silent(sinceMs),
        all.filter((each) => each.wroteAtMs <= sinceMs),
      );
      const silent = [...watch.silent(sinceMs)].map((each) => each.wroteAtMs);
      t.strictSame(
        silent,
        [...silent].sort((a, b) => a - b),
        'the longest silent first',
      );
      const present = Math.floor(clockMs / STEP_MS);
      same(
        watch.ended(clockMs),
        all.filter((each) => Math.ceil(each.endsAtMs / STEP_MS) <= present),
      );
    }),
    { seed: 11, numRuns: 200 },
  );
  t.end();
});

test('a look visits only the streams that need something', (t) => {
  const watch = new StreamWatch<Watched>(STEP_MS);
  let visits = 0;
  const streams = Array.from({ length: 10_000 }, (_, n) => ({
    endsAtMs: 1e9,
    wroteAt: n,
    get wroteAtMs() {
      visits++;
      return this.wroteAt;
    },
    set wroteAtMs(nowMs: number) {
      this.wroteAt = nowMs;
    },
  }));
  for (const stream of streams) watch.add(stream);
  t.equal([...watch.ended(1e8)].length, 0);
  t.equal([...watch.unsure()].length, 0);
  const seen = [];
  for (const stream of watch.silent(2)) {
    seen.push(stream);
    watch.wrote(stream, 20_000);
  }
  t.equal(seen.length, 3);
  t.equal(visits, 4, 'the first that is not silent ends the look');
  t.end();
});
