/** Changes of records in memory against a slow version: a Map of the records, loaded whole after each step. */
import fc from 'fast-check';
import { test } from 'tap';
import { MemorySource, type RecordLoad, type RecordSource } from '../../src/index.js';
import type { LoadResult } from '../../src/refresh/keeper.js';
import { runs, SLOW } from '../hard/size.js';

import { openHere } from './open-here.js';

const ID = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const GATE = { shrinkPercentMax: 40, rejectPercentMax: 40 } as const;

const aRecord = fc.record(
  {
    id: fc.integer({ min: 1, max: 12 }).map(ID),
    time: fc.constantFrom('2024-09-02T08:00:00Z', '2024-09-02T09:00:00Z', '2024-09-09T08:00:00Z'),
    endTime: fc.constantFrom('2024-09-02T10:00:00Z', '2024-09-09T10:00:00Z'),
    title: fc.constantFrom('a', 'b', null),
    roomId: fc.constantFrom(ID(101), ID(102), null),
    studyGroup: fc.constantFrom('x', 'y'),
    lecturer: fc.constantFrom('L', 'M'),
  },
  { requiredKeys: ['id', 'time', 'endTime'] },
);
/** One in six is rejected: it has no end, or a number as its title. */
const aRecordOrBad = fc.oneof(
  { weight: 5, arbitrary: aRecord },
  { weight: 1, arbitrary: aRecord.map(({ endTime: _, ...record }) => record) },
  { weight: 1, arbitrary: aRecord.map((record) => ({ ...record, title: 7 })) },
);
const someIds = fc.array(fc.integer({ min: 1, max: 14 }).map(ID), { maxLength: 3 });
const aStep = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      upsert: fc.array(aRecordOrBad, { maxLength: 4 }),
      remove: someIds,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('refresh' as const),
      force: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('replace' as const),
      records: fc.uniqueArray(aRecordOrBad, { selector: ({ id }) => id, minLength: 3, maxLength: 12 }),
    }),
  },
);

type Given = Readonly<Record<string, unknown>>;
type Kind = 'array' | 'Set' | 'generator' | 'async generator';

function recordsAs(kind: Kind, records: readonly Given[]): Iterable<unknown> | AsyncIterable<unknown> {
  if (kind === 'array') return records;
  if (kind === 'Set') return new Set(records);
  if (kind === 'generator') return records[Symbol.iterator]();
  return (async function* () {
    yield* records;
  })();
}

/** Fails the next load after the source was asked, like a thread that ends. */
class Flaky implements RecordSource {
  readonly name = 'a source that fails at times';
  readonly answers: string[] = [];
  fails = false;
  readonly #memory: MemorySource;

  constructor(memory: MemorySource) {
    this.#memory = memory;
  }

  load(options: Parameters<MemorySource['load']>[0]): RecordLoad {
    const given = this.#memory.load(options);
    this.answers.push(Object.keys(given)[0] ?? '');
    if (!this.fails) return given;
    this.fails = false;
    throw new Error('it failed');
  }
}

async function wholeOf(records: Iterable<Given>): Promise<{ rows: string; id: string; counts: unknown }> {
  const timetable = openHere({ source: [...records], gate: { shrinkPercentMax: 100 } });
  const { id, rejected, rejectedByCode, fields, slots, span } = await timetable.ready;
  const rows = JSON.stringify(timetable.all().events);
  await timetable.close();
  return { rows, id, counts: { rejected, rejectedByCode, fields, slots, span } };
}

const KINDS = ['array', 'async generator', 'Set', 'generator'] as const;

for (const kind of SLOW ? KINDS : KINDS.slice(0, 2)) {
  test(`changes of records given as ${kind} give the same as a load of all`, async (t) => {
    let deltas = 0;
    let refusals = 0;
    const first = fc.uniqueArray(aRecord, { selector: ({ id }) => id, minLength: 4, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(first, fc.array(aStep, { maxLength: 14 }), async (given, steps) => {
        const twin = new Map<string, Given>(given.map((record) => [record.id, record]));
        const memory = new MemorySource(recordsAs(kind, given));
        const source = new Flaky(memory);
        const timetable = openHere({ source, gate: GATE });
        await timetable.ready;
        const check = async (result: LoadResult, mayFail: boolean): Promise<void> => {
          if (result === 'failed') {
            t.ok(mayFail, `no failure was asked for: ${timetable.source.lastError}`);
            return;
          }
          const whole = await wholeOf(twin.values());
          if (result === 'refused') {
            refusals++;
            return;
          }
          const { id, rejected, rejectedByCode, fields, slots, span } = timetable.summary ?? {};
          t.equal(JSON.stringify(timetable.all().events), whole.rows);
          t.equal(id, whole.id);
          t.same({ rejected, rejectedByCode, fields, slots, span }, whole.counts);
        };
        for (const step of steps) {
          if (step.kind === 'apply') {
            memory.apply({ upsert: step.upsert, remove: step.remove });
            for (const id of step.remove) twin.delete(id);
            for (const record of step.upsert) twin.set(record.id, record);
          } else if (step.kind === 'replace') {
            memory.replace(recordsAs('array', step.records));
            twin.clear();
            for (const record of step.records) twin.set(record.id, record);
          } else if (step.kind === 'fail') source.fails = true;
          else {
            const mayFail = source.fails;
            await check((await timetable.refresh({ force: step.force })).result, mayFail);
          }
        }
        source.fails = false;
        await check((await timetable.refresh()).result, false);
        deltas += source.answers.filter((answer) => answer === 'upserts').length;
        await timetable.close();
      }),
      { seed: 54, numRuns: runs(60) },
    );
    t.ok(deltas > runs(40), `${deltas} deltas`);
    t.ok(refusals > (SLOW ? 3 : 0), `${refusals} were refused`);
  });
}
