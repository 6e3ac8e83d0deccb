/** A room that the operator of the service knows of, whether or not an event uses it. */
export interface Room {
  /** As `roomId` of events. */
  readonly id: string;
  /** As people call it; null if unknown. */
  readonly name: string | null;
  /** The building that it is in; null if unknown. */
  readonly building: string | null;
  /** People that it holds. */
  readonly capacity: number | null;
}

/** Rooms as plain data, which crosses threads. */
export interface RoomTable {
  /** Without repeated ids. */
  readonly rooms: readonly Room[];
  /** Of the content: a part of entity tags. */
  readonly digest: string;
}
