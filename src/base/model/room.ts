/** A room of the rooms file. A room without events is allowed. */
export interface Room {
  /** The same identifier as `roomId` of events. */
  readonly id: string;
  /** The display name; null if unknown. */
  readonly name: string | null;
  /** The building of the room; null if unknown. */
  readonly building: string | null;
  /** Number of people that the room holds. */
  readonly capacity: number | null;
}

/** Rooms as plain data, which crosses threads. */
export interface RoomTable {
  /** Without repeated ids. */
  readonly rooms: readonly Room[];
  /** A hash of the content, used in entity tags. */
  readonly digest: string;
}
