/** The transactions that a snapshot of the database sees. */
export interface SeenTransactions {
  sees(xid: number): boolean;
}

/**
 * Reads the result of `txid_current_snapshot()`: `xmin:xmax:xid,xid`. These numbers have 64 bits; the stream gives
 * only the lower 32.
 */
export function parseSnapshot(text: string): SeenTransactions {
  const [, end = '', running = ''] = text.split(':');
  const endXid = BigInt(end);
  const low = Number(endXid & 0xffff_ffffn);
  const active = new Set(
    running.split(',').flatMap((xid) => (xid === '' ? [] : [Number(BigInt(xid) & 0xffff_ffffn)])),
  );
  return {
    // The distance of the transaction from the end, as an int32, because numbers are reused after 2^32.
    sees: (xid) => ((low - xid) | 0) > 0 && !active.has(xid),
  };
}

interface Mark {
  readonly xid: number;
  /** Version of the load that saw the transaction; null if no load has. */
  version: number | null;
}

/**
 * Keys of changed rows, kept until a load that saw the change is served. The stream may report a change before other
 * sessions see it. A load that does not see such a change leaves its key here.
 */
export class PendingChanges {
  readonly #keysMax: number;
  readonly #rows = new Map<string, Mark>();
  /** Transactions with changes that are not known by row, such as TRUNCATE. */
  readonly #whole = new Map<number, Mark>();

  /** @param keysMax with more keys, the table counts as changed as a whole */
  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  addRow(key: string, xid: number): void {
    if (this.#whole.has(xid) && this.#whole.get(xid)?.version === null) return;
    this.#rows.set(key, { xid, version: null });
    if (this.#rows.size <= this.#keysMax) return;
    for (const mark of this.#rows.values()) this.addAll(mark.xid);
    this.#rows.clear();
  }

  addAll(xid: number): void {
    this.#whole.set(xid, { xid, version: null });
  }

  /** The load `version` is served, so the changes that it saw are finished. */
  confirm(version: number): void {
    for (const marks of [this.#rows, this.#whole] as Map<unknown, Mark>[]) {
      for (const [key, mark] of marks)
        if (mark.version !== null && mark.version <= version) marks.delete(key);
    }
  }

  /** Notes that the load `version` reads in this snapshot, and so sees the changes that the snapshot sees. */
  take(version: number, snapshot: SeenTransactions): void {
    for (const mark of this.#marks())
      if (mark.version === null && snapshot.sees(mark.xid)) mark.version = version;
  }

  /** Keys of all unconfirmed changes. */
  get keys(): string[] {
    return [...this.#rows.keys()];
  }

  /** Whether the table has to be read whole. */
  get isWhole(): boolean {
    return this.#whole.size > 0;
  }

  /** Whether there are changes that the load `version` did not see. */
  hasSince(version: number): boolean {
    for (const mark of this.#marks()) if (mark.version === null || mark.version > version) return true;
    return false;
  }

  /** Whether there are changes that no load has seen. */
  get hasUnseen(): boolean {
    for (const mark of this.#marks()) if (mark.version === null) return true;
    return false;
  }

  *#marks(): Generator<Mark> {
    yield* this.#rows.values();
    yield* this.#whole.values();
  }
}
