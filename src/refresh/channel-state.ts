/** The state of a replica or of a publisher, for operators. */
export interface ChannelState {
  /** Sequence of the announcement that a replica serves, or that the leading publisher made or found; null for none. */
  readonly sequence: number | null;
  /** Whether this publisher leads; null for a replica. */
  readonly isLeader: boolean | null;
  /** Null for a publisher. */
  readonly replica: {
    /**
     * Milliseconds since the replica learned of an announcement that it does not serve; 0 if it serves the
     * right one.
     */
    readonly lagMs: number;
    /** Number of images that the replica refuses to serve. */
    readonly quarantined: number;
    /** Whether the replica serves a pinned image. */
    readonly isPinned: boolean;
    /** Format of the announced image if this version cannot read it; otherwise null. */
    readonly unreadableFormat: number | null;
  } | null;
}
