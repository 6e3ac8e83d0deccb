import { LecternError } from '../errors.js';
import type { RoomTable } from '../model/room.js';
import type { Resolved } from '../options/option-types.js';
import { watchSource } from '../source/file-watch.js';
import { readRooms, roomsOf } from '../source/rooms-file.js';

export interface KeptRoomsEvents {
  /** The file has other rooms now. */
  readonly onChange: () => void;
  /** The changed file cannot be used. The earlier rooms stay. */
  readonly onFault: (error: Error) => void;
}

type KeptRoomsOptions = Pick<Resolved<'openTimetable'>, 'rooms' | 'identifiers' | 'watch'>;

/** The rooms of the rooms file or list. The file is read once, and again when it changes. */
export class KeptRooms {
  readonly #options: KeptRoomsOptions;
  readonly #events: KeptRoomsEvents;
  readonly #abort = new AbortController();
  #watch: { close(): void } | null = null;
  #reading: Promise<void> = Promise.resolve();
  table: RoomTable | null = null;

  /** @throws LecternError `option-invalid` for a bad list of rooms */
  constructor(options: KeptRoomsOptions, events: KeptRoomsEvents) {
    const { rooms, identifiers } = options;
    this.#options = options;
    this.#events = events;
    if (rooms !== undefined && typeof rooms !== 'string') this.table = roomsOf(rooms, identifiers);
  }

  /** Reads the file, if there is one, before `next`, because no answer may lack the rooms. Rejects with the fault of the file. */
  readBefore(next: () => Promise<void>): Promise<void> {
    const { rooms, watch } = this.#options;
    if (typeof rooms !== 'string') return next();
    // Watched before it is read, so no change in between is missed.
    if (watch) this.#watch = watchSource({ kind: 'file', path: rooms }, () => this.#changed(rooms));
    const reading = this.#read(rooms);
    // A change meanwhile is read after this.
    this.#reading = reading.catch(() => {});
    return reading.then(() => {
      this.#abort.signal.throwIfAborted();
      return next();
    });
  }

  close(): void {
    this.#watch?.close();
    this.#abort.abort(new LecternError('closed', 'the timetable was closed'));
  }

  async #read(path: string): Promise<void> {
    this.table = await readRooms(path, this.#options.identifiers, this.#abort.signal);
  }

  /** Reads the file again now. */
  refresh(): Promise<void> {
    const { rooms } = this.#options;
    if (typeof rooms === 'string') this.#changed(rooms);
    return this.#reading;
  }

  /** Reads run one after the other, so that the last one wins. */
  #changed(path: string): void {
    this.#reading = this.#reading.then(async () => {
      const before = this.table?.digest;
      try {
        await this.#read(path);
        if (this.table?.digest !== before && !this.#abort.signal.aborted) this.#events.onChange();
      } catch (error) {
        if (!this.#abort.signal.aborted) this.#events.onFault(error as Error);
      }
    });
  }
}
