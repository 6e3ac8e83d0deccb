import { createHash } from 'node:crypto';
import { LecternError } from '../errors.js';
import {
  CAPACITY_MAX,
  ROOM_FAULTS_MAX,
  ROOM_TEXT_UNITS_MAX,
  ROOMS_FILE_BYTES_MAX,
  ROOMS_MAX,
} from '../limits.js';
import { formatPosition, type IdentifierMode, type RecordPosition, type Rejection } from '../model/event.js';
import { describeIdentifier, digitsOf, isUuid, parseIdentifier } from '../model/identifier.js';
import type { ReadRules } from '../model/read-rules.js';
import type { Room, RoomTable } from '../model/room.js';
import { compareCodePoints, normaliseText, SHOWN_CHARACTERS_MAX } from '../model/text.js';
import { fileSource } from './file.js';
import type { RecordSink } from './source.js';

/**
 * Reads a file of rooms: records with id, name, building and capacity, in any format of a source. Other fields are
 * ignored. If any record has a fault, the whole file is refused, because a missing room would look occupied.
 *
 * @throws LecternError `rooms-unusable` with the faults; the reason of the signal
 */
export async function readRooms(
  path: string,
  { identifiers, encoding }: Pick<ReadRules, 'identifiers' | 'encoding'>,
  signal?: AbortSignal,
): Promise<RoomTable> {
  const intake = new RoomIntake(identifiers);
  try {
    await fileSource(path).load(intake, {
      rules: { identifiers, encoding },
      signal,
      onProgress({ bytesRead }) {
        if (bytesRead > ROOMS_FILE_BYTES_MAX)
          throw new Error(`it has more than ${ROOMS_FILE_BYTES_MAX} bytes`);
      },
    });
    return intake.finish();
  } catch (cause) {
    signal?.throwIfAborted();
    const message = `the rooms file ${path} cannot be used: ${(cause as Error).message}`;
    throw new LecternError('rooms-unusable', message, { cause });
  }
}

/** @throws LecternError `option-invalid` with the faults */
export function roomsOf(given: readonly unknown[], identifiers: IdentifierMode): RoomTable {
  const intake = new RoomIntake(identifiers);
  try {
    given.forEach((value, n) => {
      intake.record(value, { record: n + 1 });
    });
    return intake.finish();
  } catch (cause) {
    throw new LecternError('option-invalid', `rooms cannot be used: ${(cause as Error).message}`, { cause });
  }
}

class RoomIntake implements RecordSink {
  readonly #identifiers: IdentifierMode;
  readonly #rooms = new Map<string, Room>();
  readonly #faults: string[] = [];
  #faultCount = 0;

  constructor(identifiers: IdentifierMode) {
    this.#identifiers = identifiers;
  }

  record(value: unknown, position: RecordPosition): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#fault(position, 'it is not an object of the form {"id": "…", "name": "…"}');
      return;
    }
    const given = value as Readonly<Record<string, unknown>>;
    const id = this.#idOf(given.id, position);
    const name = this.#textOf('name', given.name, position) ?? this.#nameOfId(given.id);
    const building = this.#textOf('building', given.building, position);
    const capacity = this.#capacityOf(given.capacity, position);
    if (id === null) return;
    if (this.#rooms.has(id)) this.#fault(position, `an earlier record has the same id ${JSON.stringify(id)}`);
    this.#rooms.set(id, { id, name, building, capacity });
    if (this.#rooms.size > ROOMS_MAX) throw new Error(`it has more than ${ROOMS_MAX} rooms`);
  }

  reject({ position, detail }: Rejection): void {
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
    const digest = createHash('sha256').update(JSON.stringify(rooms)).digest('base64url').slice(0, 22);
    return { rooms, digest };
  }

  #idOf(given: unknown, position: RecordPosition): string | null {
    if (isAbsent(given)) {
      this.#fault(position, 'it has no id');
      return null;
    }
    const text = this.#identifiers === 'uuid' ? given : (digitsOf(given) ?? given);
    const id = typeof text === 'string' ? parseIdentifier(text, this.#identifiers, 'roomId') : null;
    if (id === null)
      this.#fault(position, `the id ${shown(given)} is not ${describeIdentifier(this.#identifiers)}`);
    return id;
  }

  /** The name of a room without a name: the text from which its identifier is derived, as in directories. */
  #nameOfId(given: unknown): string | null {
    const isText = this.#identifiers === 'derived' && typeof given === 'string' && !isUuid(given);
    return isText && given.length <= ROOM_TEXT_UNITS_MAX ? normaliseText(given) : null;
  }

  #textOf(name: string, given: unknown, position: RecordPosition): string | null {
    if (isAbsent(given)) return null;
    const text = typeof given === 'string' ? normaliseText(given) : null;
    if (text !== null && text.length <= ROOM_TEXT_UNITS_MAX) return text;
    this.#fault(
      position,
      `the ${name} ${shown(given)} is not a text of at most ${ROOM_TEXT_UNITS_MAX} characters`,
    );
    return null;
  }

  /** A number, or its digits, as in CSV. */
  #capacityOf(given: unknown, position: RecordPosition): number | null {
    if (isAbsent(given)) return null;
    const capacity = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given;
    if (Number.isInteger(capacity) && Number(capacity) >= 0 && Number(capacity) <= CAPACITY_MAX) {
      return Number(capacity);
    }
    this.#fault(position, `the capacity ${shown(given)} is not a whole number from 0 to ${CAPACITY_MAX}`);
    return null;
  }
}

/** Empty cells of CSV are absent. */
function isAbsent(given: unknown): boolean {
  return given === undefined || given === null || given === '';
}

function shown(given: unknown): string {
  const text = typeof given === 'string' ? given : typeof given === 'object' ? 'an object' : String(given);
  return JSON.stringify(text.slice(0, SHOWN_CHARACTERS_MAX).toWellFormed());
}
