import { derivedIdentifier } from '../base/model/derived-identifier.js';
import type { NormalisedEvent, RecordPosition } from '../base/model/event.js';
import { ByteStrings, viewOf } from '../base/structures/byte-strings.js';
import { KeyedHash, randomHashSeed } from '../base/structures/keyed-hash.js';

const CONTENT_FIELDS = [
  'time',
  'endTime',
  'title',
  'roomId',
  'courseId',
  'studyGroup',
  'lecturer',
  'type',
  'groupId',
  'lecturerId',
] as const;

/** 16 hexadecimal digits are enough to distinguish the records of one source. */
const PRINT_BYTES = 16;

/**
 * Makes identifiers for records without an identifier, from ten fields and from the position among equal
 * records. Equal records of different sources get equal identifiers. 40 bytes are kept for each record.
 */
export class ContentIdentifiers {
  readonly #hash = new KeyedHash(randomHashSeed());
  readonly #print: Buffer = Buffer.alloc(PRINT_BYTES);
  readonly #printView = viewOf(this.#print);
  /** Records of the present source; sources are read one after another. */
  #seen = new ByteStrings();
  /** Records that occurred more than once. */
  #counts = new Map<number, number>();
  #source: string | undefined;

  get heldBytes(): number {
    return this.#seen.heldBytes;
  }

  identifierOf(event: NormalisedEvent, { source }: RecordPosition): string {
    if (source !== this.#source) {
      this.#source = source;
      this.#seen = new ByteStrings();
      this.#counts = new Map();
    }
    const content = JSON.stringify(CONTENT_FIELDS.map((name) => event[name]));
    const identifier = derivedIdentifier('id', content);
    const count = this.#count(identifier);
    return count === 1 ? identifier : derivedIdentifier('id', `${content} ${count}`);
  }

  #count(identifier: string): number {
    this.#print.write(identifier.replaceAll('-', '').slice(-PRINT_BYTES), 'latin1');
    const hash = this.#hash.bytes(this.#printView, 0, PRINT_BYTES);
    const known = this.#seen.find(hash, this.#printView, 0, PRINT_BYTES);
    if (known === -1) {
      this.#seen.add(hash, this.#printView, 0, PRINT_BYTES);
      return 1;
    }
    const count = (this.#counts.get(known) ?? 1) + 1;
    this.#counts.set(known, count);
    return count;
  }
}
