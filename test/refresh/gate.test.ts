/** Which images the gate refuses. Inside, because each case would need two loads. */
import { test } from 'tap';
import { resolveOptions } from '../../src/options/resolve.js';
import { type Gate, type GateOptions, judge, type RefusalCode } from '../../src/refresh/gate.js';
import type { SnapshotSummary } from '../../src/snapshot/summary.js';
import { keptLog } from '../app/threads.js';
import { SECRET } from '../auth/tokens.js';
import { MemorySource, startService } from './built.js';

const GATE_DEFAULTS = resolveOptions('gate', {});

function summary(events: number, rejected = 0, more: Partial<SnapshotSummary> = {}): SnapshotSummary {
  return {
    id: 'x',
    events,
    slots: 0,
    rejected,
    rejectedByCode: {},
    rejections: [],
    modifiedMs: 0,
    builtAtMs: 0,
    buildMs: 0,
    bytes: 0,
    identifiers: 'uuid',
    span: null,
    fields: [],
    unserved: { fields: [], others: 0 },
    ambiguousTimes: { gaps: 0, overlaps: 0 },
    ...more,
  };
}

type Row = readonly [
  name: string,
  next: SnapshotSummary,
  served: SnapshotSummary | null,
  gate: GateOptions,
  expected: RefusalCode | null,
];

const ROWS: readonly Row[] = [
  ['the same number', summary(100), summary(100), {}, null],
  ['more', summary(1000), summary(100), {}, null],
  ['30 % fewer', summary(70), summary(100), {}, null],
  ['just over 30 % fewer', summary(699), summary(1000), {}, 'shrunk'],
  ['one of two gone', summary(1), summary(2), {}, 'shrunk'],
  ['one of ten gone, none may', summary(9), summary(10), { shrinkPercentMax: 0 }, 'shrunk'],
  ['the same number, none may go', summary(10), summary(10), { shrinkPercentMax: 0 }, null],
  ['nearly all gone, all may', summary(1), summary(1000), { shrinkPercentMax: 100 }, null],
  ['none', summary(0), summary(100), {}, 'empty'],
  ['none, and nearly all may go', summary(0), summary(100), { shrinkPercentMax: 99.9 }, 'empty'],
  ['none, and all may go', summary(0), summary(100), { shrinkPercentMax: 100 }, null],
  ['none at first', summary(0), null, {}, 'empty'],
  ['none at first, and all may go', summary(0), null, { shrinkPercentMax: 100 }, null],
  ['none after none', summary(0), summary(0), { shrinkPercentMax: 100 }, null],
  ['some after none', summary(5), summary(0), {}, null],
  ['10 % rejected', summary(90, 10), summary(90), {}, null],
  ['just over 10 % rejected', summary(899, 101), summary(899), {}, 'rejected'],
  ['one of ten rejected, none may be', summary(9, 1), summary(9), { rejectPercentMax: 0 }, 'rejected'],
  ['half rejected, half may be', summary(50, 50), summary(50), { rejectPercentMax: 50 }, null],
  ['nearly all rejected at first', summary(1, 999), null, {}, null],
  ['all rejected at first', summary(0, 999), null, {}, 'empty'],
  [
    'overridden by a later source',
    summary(50, 50, { rejectedByCode: { overridden: 50 } }),
    summary(50),
    {},
    null,
  ],
  ['both rejected and fewer: the cause comes first', summary(50, 50), summary(100), {}, 'rejected'],
];

test('the gate refuses sets that are empty, much smaller, or mostly rejected', async (t) => {
  for (const [name, next, served, gate, expected] of ROWS) {
    const refusal = judge(next, served, { ...GATE_DEFAULTS, ...gate } as Gate);
    t.equal(refusal?.code ?? null, expected, name);
  }
});

test('a refusal gives the numbers', async (t) => {
  t.match(
    judge(summary(60), summary(100), GATE_DEFAULTS)?.detail,
    /60 events.*40\.0 %.*100 being served.*30 %/,
  );
  t.match(judge(summary(80, 20), summary(100), GATE_DEFAULTS)?.detail, /20 of 100 records.*20\.0 %.*10 %/);
  t.equal(judge(summary(0), null, GATE_DEFAULTS)?.detail, 'it has no events');
  const rejections = [
    { code: 'missing-field', position: { record: 1, line: 1 }, field: 'id', detail: 'id is missing' },
  ] as const;
  t.match(
    judge(summary(0, 7, { rejections }), null, GATE_DEFAULTS)?.detail,
    /all 7 records were rejected, the first at line 1: id is missing; lectern inspect shows its columns and proposes a field map$/,
  );
  t.match(
    judge(summary(0, 1, { rejections }), null, GATE_DEFAULTS)?.detail,
    /its only record was rejected, at line 1: id is missing; lectern inspect /,
  );
  t.match(
    judge(summary(80, 20, { rejections }), summary(100), GATE_DEFAULTS)?.detail,
    /at most 10 % may be rejected; the first rejection is at line 1: id is missing$/,
  );
  const outside = { events: 2, from: '2023-09-01', to: '2023-12-24' };
  const expanded = { from: '2025-11-23', to: '2028-11-23', outside };
  t.equal(
    judge(summary(0, 0, { expanded }), null, GATE_DEFAULTS)?.detail,
    'it has no events: recurring events are expanded from 2025-11-23 until 2028-11-23 (exclusive), and 2 recurring events have no ' +
      'occurrence in these days; their occurrences are from 2023-09-01 until 2023-12-24 (exclusive): set calendarFrom and calendarTo (on the command line ' +
      '--calendar-from 2023-09-01 --calendar-to 2023-12-24) to serve them',
  );
  t.match(judge(summary(1), summary(10), GATE_DEFAULTS)?.detail, /^it has 1 event, /);
});

test('a first load with many bad records is published, with a warning', async (t) => {
  const good = {
    id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
    time: '2026-09-14T08:00:00Z',
    endTime: '2026-09-14T09:00:00Z',
  };
  for (const [records, warnings] of [
    [[good, {}], 1],
    [[good], 0],
  ] as const) {
    const { log, lines } = keptLog();
    const options = { port: 0, hs256Secret: SECRET, watch: false } as const;
    const service = await startService({ ...options, source: new MemorySource([...records]) }, { log });
    t.equal((await service.ready).events, 1);
    await service.close();
    const warned = lines.filter(({ message }) => message === 'first timetable has many bad records');
    t.equal(warned.length, warnings);
    if (warnings > 0) {
      t.match(warned[0], { level: 'warn', fields: { reason: /^50\.0 % .* refused above 10 %$/ } });
    }
  }
});
