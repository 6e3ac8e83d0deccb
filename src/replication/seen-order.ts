import { LecternError } from '../errors.js';
import type { Floor, Pin } from './store-records.js';

const RESTORED = 'the store may have been restored from an older copy';

/**
 * The latest announcement and the latest choice that a replica has seen. The replica follows nothing older.
 */
export class SeenOrder {
  /** The last head that this replica served. */
  floor: Floor | null = null;
  /** The highest sequence of an operator's choice. */
  #chosenAt = 0;
  /** Whether the last choice that was seen was a pin. */
  #isPinned = false;

  serves(floor: Floor): void {
    this.floor = floor;
  }

  /**
   * Compares heads of any epoch: a store that lost its records has a new epoch, and perhaps a publisher with
   * another clock. The replica reports the floor, so the publisher announces with a higher sequence.
   *
   * @throws LecternError `announcement-refused` for an image that was replaced long ago
   */
  checkHead({ sequence }: Floor): void {
    const { floor } = this;
    if (floor === null || sequence >= floor.sequence) return;
    const problem = `the announcement has sequence ${sequence}, but sequence ${floor.sequence} was served before`;
    throw new LecternError('announcement-refused', `${problem}: ${RESTORED}`);
  }

  /** Continues after a restart. */
  resumeChoice(sequence: number, isPin: boolean): void {
    this.#chosenAt = sequence;
    this.#isPinned = isPin;
  }

  /**
   * @param pin the last pin or unpin; null if the store has none. A forged sequence was replaced by 0, and is not
   * compared
   * @throws LecternError `announcement-refused` for an earlier choice, and if the last choice was a pin and is gone
   */
  checkChoice(pin: Pin | null): void {
    const { sequence, id } = pin ?? { sequence: 0, id: null };
    if (pin === null && this.#isPinned) throw lost('the store has lost the last pin');
    if (sequence !== 0 && sequence < this.#chosenAt) {
      const seen = `but sequence ${this.#chosenAt} was seen before`;
      throw lost(`the last pin or unpin has sequence ${sequence}, ${seen}: ${RESTORED}`);
    }
    this.#chosenAt = Math.max(this.#chosenAt, sequence);
    if (pin !== null) this.#isPinned = id !== null;
  }
}

function lost(problem: string): LecternError {
  const remedy = 'to choose again, run `lectern feed pin <id>` or `lectern feed unpin`';
  return new LecternError('announcement-refused', `${problem}; ${remedy}`);
}
