import { LecternError, optionInvalid } from '../base/errors.js';
import {
  CAPACITY_MAX,
  ROOM_FAULTS_MAX,
  ROOM_TEXT_UNITS_MAX,
  ROOMS_FILE_BYTES_MAX,
  ROOMS_MAX,
} from '../base/limits.js';
import { shortDigest } from '../base/model/derived-identifier.js';
import {
  formatPosition,
  type IdentifierMode,
  type RecordPosition,
  type Rejection,
} from '../base/model/event.js';
import { describeIdentifier, isUuid, parseIdentifier } from '../base/model/identifier.js';
import type { ReadRules } from '../base/model/read-rules.js';
import type { Room, RoomTable } from '../base/model/room.js';
import { compareCodePoints, normaliseText, SHOWN_CHARACTERS_MAX } from '../base/model/text.js';
import { NULL, type Row, WHOLE } from '../base/structures/row.js';
import { FieldTable } from './field-map.js';
import { fileSource } from './file.js';
import type { PostgresSpec } from './postgres/postgres-address.js';
import type { RowForm, RowSink, Source } from './source.js';

/** A file or a database with rooms, and how it is read. */
export interface RoomsSpec {
  readonly source: string | PostgresSpec;
  readonly rules: ReadRules;
}

/**
 * Reads rooms: records with id, name, building and capacity, in any format of a source. Other fields are ignored. If any
 * record has a fault, all rooms are refused, because a missing room would look occupied.
 *
 * @param source a path, or another source
 * @throws LecternError `rooms-unusable` with the faults; the reason of the signal
 */
export async function readRooms(
  source: string | Source,
  rules: ReadRules,
  signal?: AbortSignal,
): Promise<RoomTable> {
  const intake = new RoomIntake(rules.identifiers);
  const given = typeof source === 'string' ? fileSource(source) : source;
  try {
    await given.load(intake, {
      ...{ rules, signal, form: FORM },
      onProgress({ bytesRead }) {
        if (bytesRead > ROOMS_FILE_BYTES_MAX)
          throw new Error(`it has more than ${ROOMS_FILE_BYTES_MAX} bytes`);
      },
    });
    return intake.finish();
  } catch (cause) {
    signal?.throwIfAborted();
    const what = typeof source === 'string' ? `the rooms file ${source}` : `the rooms of ${source.name}`;
    const message = `${what} cannot be used: ${(cause as Error).message}`;
    throw new LecternError('rooms-unusable', message, { cause });
  }
}

/** @throws LecternError `option-invalid` with the faults */
export function roomsOf(given: readonly unknown[], identifiers: IdentifierMode): RoomTable {
  const intake = new RoomIntake(identifiers);
  try {
    const table = new FieldTable(intake, 'memory', { identifiers }, '', { form: FORM });
    for (const value of given) {
      table.row.record++;
      table.object(value);
    }
    return intake.finish();
  } catch (cause) {
    throw optionInvalid(`rooms cannot be used: ${(cause as Error).message}`, cause);
  }
}

const FORM: RowForm = {
  fields: ['id', 'name', 'building', 'capacity'],
  record: 'an object of the form {"id": "…", "name": "…"}',
};
const [ID, NAME, BUILDING, CAPACITY] = [0, 1, 2, 3] as const;

class RoomIntake implements RowSink {
  readonly #identifiers: IdentifierMode;
  readonly #rooms = new Map<string, Room>();
  readonly #faults: string[] = [];
  #faultCount = 0;

  constructor(identifiers: IdentifierMode) {
    this.#identifiers = identifiers;
  }

  row(row: Row): void {
    const id = this.#idOf(row);
    const name = this.#textOf(row, NAME) ?? this.#nameOfId(row);
    const building = this.#textOf(row, BUILDING);
    const capacity = this.#capacityOf(row);
    if (id === null) return;
    const earlier = this.#rooms.get(id);
    if (earlier !== undefined) {
      const isElsewhere = earlier.building !== building;
      const hint = isElsewhere
        ? ` in another building; expected an id of both, such as fields: { id: '{building} {name}' }`
        : '';
      this.#fault(row.position, `an earlier record has the same id ${JSON.stringify(id)}${hint}`);
    }
    this.#rooms.set(id, { id, name, building, capacity });
    if (this.#rooms.size > ROOMS_MAX) throw new Error(`it has more than ${ROOMS_MAX} rooms`);
  }

  fault({ position, detail }: Rejection): void {
    this.#fault(position, detail);
  }

  #fault(position: RecordPosition, problem: string): void {
    this.#faultCount++;
    if (this.#faults.length < ROOM_FAULTS_MAX) this.#faults.push(`${formatPosition(position)}: ${problem}`);
  }

  /** Throws an Error with the faults. */
  finish(): RoomTable {
    if (this.#faultCount > 0) {
      const more = this.#faultCount - this.#faults.length;
      throw new Error([...this.#faults, ...(more === 0 ? [] : [`and ${more} more faults`])].join('; '));
    }
    const rooms = [...this.#rooms.values()].sort((a, b) => compareCodePoints(a.id, b.id));
    const digest = shortDigest(JSON.stringify(rooms));
    return { rooms, digest };
  }

  #idOf(row: Row): string | null {
    if (isAbsent(row, ID)) {
      this.#fault(row.position, 'it has no id');
      return null;
    }
    const isWhole = this.#identifiers !== 'uuid' && row.kindOf(ID) === WHOLE;
    const text = row.isText(ID) || isWhole ? row.textOf(ID) : null;
    const id = text === null ? null : parseIdentifier(text, this.#identifiers, 'roomId');
    if (id === null)
      this.#fault(row.position, `the id ${shown(row, ID)} is not ${describeIdentifier(this.#identifiers)}`);
    return id;
  }

  /** The name of a room without a name: the text from which its identifier is derived, as in directories. */
  #nameOfId(row: Row): string | null {
    if (this.#identifiers !== 'derived' || !row.isText(ID)) return null;
    const given = row.textOf(ID);
    return !isUuid(given) && given.length <= ROOM_TEXT_UNITS_MAX ? normaliseText(given) : null;
  }

  #textOf(row: Row, field: typeof NAME | typeof BUILDING): string | null {
    if (isAbsent(row, field)) return null;
    const text = row.isText(field) ? normaliseText(row.textOf(field)) : null;
    if (text !== null && text.length <= ROOM_TEXT_UNITS_MAX) return text;
    const name = FORM.fields[field];
    const expected = `a text of at most ${ROOM_TEXT_UNITS_MAX} characters`;
    this.#fault(row.position, `the ${name} ${shown(row, field)} is not ${expected}`);
    return null;
  }

  /** A number, or its digits, as in CSV. */
  #capacityOf(row: Row): number | null {
    if (isAbsent(row, CAPACITY)) return null;
    const text = row.textOf(CAPACITY);
    const isNumber = row.kindOf(CAPACITY) === WHOLE || (row.isText(CAPACITY) && /^\d{1,9}$/.test(text));
    const capacity = isNumber ? Number(text) : -1;
    if (capacity >= 0 && capacity <= CAPACITY_MAX) return capacity;
    const expected = `a whole number from 0 to ${CAPACITY_MAX}`;
    this.#fault(row.position, `the capacity ${shown(row, CAPACITY)} is not ${expected}`);
    return null;
  }
}

/** Empty cells of CSV are absent. */
function isAbsent(row: Row, field: number): boolean {
  return row.kindOf(field) <= NULL || row.isEmptyText(field);
}

function shown(row: Row, field: number): string {
  return JSON.stringify(row.textOf(field).slice(0, SHOWN_CHARACTERS_MAX).toWellFormed());
}
