import fc from 'fast-check';
import { test } from 'tap';
import { PendingChanges, parseSnapshot } from '../../../src/source/postgres/follower.js';

test('a snapshot sees the transactions that ended before it', (t) => {
  const { sees } = parseSnapshot('100:110:102,105');
  t.strictSame([99, 100, 102, 103, 105, 109, 110, 111].map(sees), [
    true,
    true,
    false,
    true,
    false,
    true,
    false,
    false,
  ]);
  t.end();
});

test('transaction numbers start again after 32 bits', (t) => {
  const past = parseSnapshot(`${2n ** 32n - 2n}:${2n ** 32n + 3n}:${2n ** 32n + 1n}`);
  t.strictSame(
    [2 ** 32 - 3, 2 ** 32 - 1, 0, 1, 2, 3].map((xid) => past.sees(xid)),
    [true, true, true, false, true, false],
  );
  t.end();
});

test('changes are kept until a load that saw them is served', (t) => {
  const pending = new PendingChanges(10);
  pending.addRow('a', 5);
  pending.addRow('b', 7);
  pending.take(1, { sees: (xid) => xid < 6 });
  t.ok(pending.hasSince(Number.POSITIVE_INFINITY), 'b is not visible yet');
  t.strictSame(pending.keys, ['a', 'b'], 'a load that was not served does not count');
  pending.confirm(1);
  t.strictSame(pending.keys, ['b']);
  pending.addRow('b', 9);
  pending.take(2, { sees: (xid) => xid < 8 });
  pending.confirm(2);
  t.strictSame(pending.keys, ['b'], 'it changed again');
  pending.take(3, { sees: () => true });
  t.not(pending.hasSince(Number.POSITIVE_INFINITY), true);
  t.ok(pending.hasSince(2));
  t.notOk(pending.hasSince(3));
  t.end();
});

test('above the limit of keys, the whole table counts as changed until all transactions are visible', (t) => {
  const pending = new PendingChanges(2);
  for (const [key, xid] of [
    ['a', 5],
    ['b', 6],
    ['c', 7],
  ] as const)
    pending.addRow(key, xid);
  t.strictSame(pending.keys, []);
  t.ok(pending.isWhole);
  pending.take(1, { sees: (xid) => xid < 7 });
  pending.confirm(1);
  t.ok(pending.isWhole, 'c is not visible yet');
  pending.take(2, { sees: () => true });
  pending.confirm(2);
  t.notOk(pending.isWhole);
  t.end();
});

/** After any transactions, an earlier load plus reads by key gives the present table. */
test('reading by key gives the table, with generated transactions, failing loads and late snapshots', (t) => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('write' as const),
        keys: fc.array(fc.nat(6), { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('load' as const), isServed: fc.boolean(), lag: fc.nat(2) }),
    },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const pending = new PendingChanges(1000);
      const history: ReadonlyMap<string, number>[] = [new Map()];
      let served: ReadonlyMap<string, number> = new Map();
      let version = 0;
      /** The latest snapshot. Snapshots never go back. */
      let seenMax = 0;
      const load = (isServed: boolean, xidMax: number): void => {
        version++;
        pending.take(version, { sees: (xid) => xid <= xidMax });
        const table = history[xidMax] as ReadonlyMap<string, number>;
        const next = new Map(served);
        for (const key of pending.keys) {
          const value = table.get(key);
          if (value === undefined) next.delete(key);
          else next.set(key, value);
        }
        if (!isServed) return;
        served = next;
        pending.confirm(version);
      };
      for (const each of steps) {
        if (each.kind === 'write') {
          const table = new Map(history.at(-1));
          const xid = history.length;
          for (const key of each.keys) {
            if (xid % 3 === 0) table.delete(String(key));
            else table.set(String(key), xid);
            pending.addRow(String(key), xid);
          }
          history.push(table);
        } else {
          seenMax = Math.max(seenMax, history.length - 1 - each.lag);
          load(each.isServed, seenMax);
          if (each.isServed) assertEqual(served, history[seenMax] as ReadonlyMap<string, number>);
        }
      }
      load(true, history.length - 1);
      assertEqual(served, history.at(-1) as ReadonlyMap<string, number>);
    }),
    { numRuns: 500, seed: 20260914 },
  );
  t.pass('500 sequences');
  t.end();
});

function assertEqual(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): void {
  const text = (map: ReadonlyMap<string, number>): string => JSON.stringify([...map].sort());
  if (text(a) !== text(b)) throw new Error(`${text(a)} is not ${text(b)}`);
}
