import { LecternError } from '../errors.js';
import type { Floor } from './store-records.js';

const RESTORED = 'the store may have been restored from an older copy';

/**
 * The latest announcement and the latest choice that a replica has seen. The replica follows nothing older.
 */
export class SeenOrder {
  /** The last head that this replica served. */
  floor: Floor | null = null;
  /** The highest sequence of an operator's choice. */
  #chosenAt = 0;

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

  /**
   * @param sequence of the last pin or unpin. 0 if there is no record, or if its sequence is forged; then
   * nothing is checked
   * @throws LecternError `announcement-refused` for an earlier choice
   */
  checkChoice(sequence: number): void {
    if (sequence !== 0 && sequence < this.#chosenAt) {
      const problem = `the last pin or unpin has sequence ${sequence}, but sequence ${this.#chosenAt} was seen before`;
      const remedy = 'to choose again, run `lectern feed pin <id>` or `lectern feed unpin`';
      throw new LecternError('announcement-refused', `${problem}: ${RESTORED}; ${remedy}`);
    }
    this.#chosenAt = Math.max(this.#chosenAt, sequence);
  }
}
