import { LecternError } from '../errors.js';
import type { IdentifierMode } from '../model/event.js';
import type { Room, RoomTable } from '../model/room.js';
import { watchSource } from '../source/file-watch.js';
import { readRooms, roomsOf } from '../source/rooms-file.js';

export interface KeptRoomsOptions {
  /** A path, or the rooms themselves. */
  readonly given: string | readonly Room[] | undefined;
  readonly identifiers: IdentifierMode;
  readonly watch: boolean;
  /** The file has other rooms now. */
  readonly onChange: () => void;
  /** The changed file cannot be used. The rooms from before stay. */
  readonly onFault: (error: Error) => void;
}

/** The rooms that the operator knows of: read once, and again when their file changes. */
export class KeptRooms {
  readonly #options: KeptRoomsOptions;
  readonly #abort = new AbortController();
  #watch: { close(): void } | null = null;
  #reading: Promise<void> = Promise.resolve();
  table: RoomTable | null = null;

  /** @throws LecternError `option-invalid` for bad rooms that are no file */
  constructor(options: KeptRoomsOptions) {
    const { given, identifiers } = options;
    this.#options = options;
    if (given !== undefined && typeof given !== 'string') this.table = roomsOf(given, identifiers);
  }

  /** Reads the file, if there is one, before `next`: no answer lacks the rooms. Rejects with the fault of the file. */
  readBefore(next: () => Promise<void>): Promise<void> {
    const { given, watch } = this.#options;
    if (typeof given !== 'string') return next();
    // Watched before it is read: a change in between is not missed.
    if (watch) this.#watch = watchSource({ kind: 'file', path: given }, () => this.#changed(given));
    return this.#read(given).then(() => {
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

  /** One reading after the other, so that the last one wins. */
  #changed(path: string): void {
    this.#reading = this.#reading.then(async () => {
      const before = this.table?.digest;
      try {
        await this.#read(path);
        if (this.table?.digest !== before && !this.#abort.signal.aborted) this.#options.onChange();
      } catch (error) {
        if (!this.#abort.signal.aborted) this.#options.onFault(error as Error);
      }
    });
  }
}
