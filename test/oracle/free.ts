/** The slow version of GET /schedule/free: checks every event for each key, once for each week. */
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { ConflictBy } from '../../src/base/model/fields.js';
import type { Room } from '../../src/base/model/room.js';
import { compareText } from './events.js';

export interface OracleFreeQuery {
  readonly by: ConflictBy;
  readonly windows: readonly { readonly startMs: number; readonly endMs: number }[];
  readonly among?: readonly string[] | undefined;
  readonly buildings?: readonly string[] | undefined;
  readonly capacityMin?: number | undefined;
}

export interface OracleFreeEntry {
  readonly id: string | null;
  readonly name: string | null;
  readonly freeFrom: string | null;
  readonly freeUntil: string | null;
  readonly building?: string | null;
  readonly capacity?: number | null;
}

interface Known {
  readonly id: string | null;
  name: string | null;
  room: Room | null;
  readonly events: NormalisedEvent[];
}

/** Sorts null last. */
function compareOrNull(a: string | null, b: string | null): number {
  if (a === null && b === null) return 0;
  if (a === null) return 1;
  return b === null ? -1 : compareText(a, b);
}

const FIELDS_OF = {
  room: ['roomId', null],
  lecturer: ['lecturerId', 'lecturer'],
  group: ['groupId', 'studyGroup'],
} as const;

/** All keys that occur in events or rooms. @param nameOf the display name of an identifier */
function knownOf(
  events: readonly NormalisedEvent[],
  by: ConflictBy,
  rooms: readonly Room[],
  nameOf: (field: 'roomId' | 'groupId' | 'lecturerId', value: string) => string | null,
): Known[] {
  const [idField, textField] = FIELDS_OF[by];
  const byId = new Map<string, Known>();
  const byText = new Map<string, Known>();
  for (const event of events) {
    const id = event[idField];
    const text = textField === null ? null : event[textField];
    if (id !== null) {
      let known = byId.get(id);
      if (known === undefined) {
        known = { id, name: nameOf(idField, id), room: null, events: [] };
        byId.set(id, known);
      }
      known.events.push(event);
    } else if (text !== null && text !== '') {
      let known = byText.get(text);
      if (known === undefined) {
        known = { id: null, name: text, room: null, events: [] };
        byText.set(text, known);
      }
      known.events.push(event);
    }
  }
  for (const room of by === 'room' ? rooms : []) {
    const known = byId.get(room.id) ?? { id: room.id, name: null, room: null, events: [] };
    known.name = room.name ?? known.name;
    known.room = room;
    byId.set(room.id, known);
  }
  return [...byId.values(), ...byText.values()];
}

export function freeOracle(
  events: readonly NormalisedEvent[],
  { by, windows, among, buildings, capacityMin }: OracleFreeQuery,
  rooms: readonly Room[] | null = null,
  nameOf: (field: 'roomId' | 'groupId' | 'lecturerId', value: string) => string | null = () => null,
): OracleFreeEntry[] {
  const instant = (ms: number): string | null => (Number.isFinite(ms) ? new Date(ms).toISOString() : null);
  const found: OracleFreeEntry[] = [];
  for (const known of knownOf(events, by, rooms ?? [], nameOf)) {
    const key = known.id ?? known.name ?? '';
    if (among !== undefined && !among.includes(key)) continue;
    if (buildings !== undefined && !buildings.includes(known.room?.building ?? '')) continue;
    if (capacityMin !== undefined && (known.room?.capacity ?? -1) < capacityMin) continue;
    const lasting = known.events.filter(({ time, endTime }) => endTime > time);
    const isBusy = windows.some(({ startMs, endMs }) =>
      lasting.some(({ time, endTime }) => time < endMs && endTime > startMs),
    );
    if (isBusy) continue;
    const [first] = windows;
    if (first === undefined) continue;
    let from = Number.NEGATIVE_INFINITY;
    let until = Number.POSITIVE_INFINITY;
    for (const { time, endTime } of lasting) {
      if (endTime <= first.startMs) from = Math.max(from, endTime);
      if (time >= first.endMs) until = Math.min(until, time);
    }
    const { building = null, capacity = null } = known.room ?? {};
    found.push({
      ...{ id: known.id, name: known.name, freeFrom: instant(from), freeUntil: instant(until) },
      ...(by === 'room' && rooms !== null ? { building, capacity } : {}),
    });
  }
  return found.sort((a, b) => compareOrNull(a.name, b.name) || compareOrNull(a.id, b.id));
}
