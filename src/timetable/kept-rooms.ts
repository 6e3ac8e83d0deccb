import type { KeptFile } from '../files/kept-files.js';
import type { RoomTable } from '../model/room.js';
import type { Resolved } from '../options/option-types.js';
import { readRooms, roomsOf } from '../source/rooms-file.js';

/** The rooms given by the operator, directly or in a file that is read again when it changes. */
export class KeptRooms {
  table: RoomTable | null = null;
  readonly files: readonly KeptFile[];

  /**
   * @param onChange called when the rooms in the file have changed
   * @throws LecternError `option-invalid` for bad rooms that do not come from a file
   */
  constructor(
    options: Pick<Resolved<'openTimetable'>, 'rooms' | 'identifiers' | 'encoding' | 'watch'>,
    onChange: () => void,
  ) {
    const { rooms, identifiers, watch } = options;
    if (typeof rooms !== 'string') {
      this.files = [];
      if (rooms !== undefined) this.table = roomsOf(rooms, identifiers);
      return;
    }
    const read: KeptFile['read'] = async (signal) => {
      const table = await readRooms(rooms, options, signal);
      const before = this.table;
      if (table.digest === before?.digest) return null;
      return () => {
        this.table = table;
        if (before !== null) onChange();
      };
    };
    this.files = [{ kind: 'rooms', paths: [rooms], isWatched: watch, read }];
  }
}
