/** Rules with too many occurrences end soon, even when all their events are delivered to the builder. */
import { test } from 'tap';
import { OCCURRENCES_MAX } from '../../../src/limits.js';
import { createValueReader } from '../../../src/normalise/normalise.js';
import { SnapshotBuilder } from '../../../src/snapshot/builder.js';
import { ByteIntake } from '../../../src/snapshot/byte-intake.js';
import { CalendarReader } from '../../../src/source/calendar/calendar-reader.js';
import type { RecordSink } from '../../../src/source/source.js';
import { eventOf } from './calendars.js';
import { cpuMs, leastMs, RATIO_MAX } from './floor.js';

const RULES = { identifiers: 'uuid', from: '2026-01-01', to: '2027-12-31' } as const;

function deliver(text: string): { readonly events: number; readonly decoded: number } {
  const builder = new SnapshotBuilder({ identifiers: 'uuid' });
  const intake = new ByteIntake(builder, 'uuid', createValueReader('uuid'));
  let decoded = 0;
  const sink: RecordSink = {
    record: () => {
      decoded++;
    },
    reject: () => undefined,
    undecoded: (bytes, view, spans, _names, times) => intake.add(bytes, view, spans, times),
  };
  const reader = new CalendarReader('test', sink, RULES);
  reader.push(Buffer.from(text));
  reader.finish();
  for (const _step of reader.rest()) reader.records;
  return { events: builder.eventCount, decoded };
}

for (const [rule, start] of [
  ['FREQ=SECONDLY', '20260101T000000Z'],
  ['FREQ=SECONDLY', '19700101T000000Z'],
  ['FREQ=MINUTELY', '20260101T000000Z'],
  ['FREQ=HOURLY;BYMINUTE=0,15,30,45', '20260101T000000Z'],
  ['FREQ=SECONDLY;BYSECOND=1,3,5', '20260101T000000Z'],
] as const) {
  test(`${rule} from ${start}: all events reach the builder, none decoded, for little more than their digests`, (t) => {
    const text = eventOf(`DTSTART:${start}`, `RRULE:${rule}`);
    t.strictSame(deliver(text), { events: OCCURRENCES_MAX, decoded: 0 });
    const { spentMs, floorMs } = leastMs(() => cpuMs(() => deliver(text)));
    t.ok(spentMs <= RATIO_MAX * floorMs, `${spentMs.toFixed(1)} ms against ${floorMs.toFixed(1)} ms`);
    t.end();
  });
}
