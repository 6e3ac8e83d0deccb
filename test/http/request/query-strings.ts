/** Generated request targets: good and bad query strings, in the form that node:http passes on. */
import fc from 'fast-check';
import type { GeneratedEvent } from '../../../bench/generate.mjs';

/** The routes that read. */
export const PATHS: readonly string[] = ['', '/all', '/types', '/conflicts', '/personal', '/changes'].map(
  (end) => `/api/v1/schedule${end}`,
);
/** The number generated at once: fast-check keeps a tree of each for shrinking until they are finished. */
const BATCH = 1000;

/**
 * Texts in one piece of memory that the garbage collector does not walk, so that measurements exclude the
 * cost of generating them.
 */
export class PackedTexts {
  /** The start of each text, and the end of the last one. */
  readonly #bounds: number[] = [0];
  #bytes = Buffer.alloc(1 << 20);

  get count(): number {
    return this.#bounds.length - 1;
  }

  /** @param text ASCII */
  push(text: string): void {
    const start = this.#bounds.at(-1) as number;
    while (start + text.length > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
    this.#bounds.push(start + this.#bytes.write(text, start, 'latin1'));
  }

  at(index: number): string {
    return this.#bytes.toString('latin1', this.#bounds[index], this.#bounds[index + 1]);
  }
}

/**
 * @param events source of the requested values
 * @param count how many targets
 * @param seed an equal seed gives equal targets
 */
export function generateTargets(events: readonly GeneratedEvent[], count: number, seed: number): PackedTexts {
  const targets = targetsOf(events);
  const packed = new PackedTexts();
  for (let n = 0; n < count; n += BATCH) {
    const numRuns = Math.min(BATCH, count - n);
    for (const target of fc.sample(targets, { numRuns, seed: seed + n })) packed.push(target);
  }
  return packed;
}

function targetsOf(events: readonly GeneratedEvent[]): fc.Arbitrary<string> {
  const known = (name: 'roomId' | 'courseId' | 'studyGroup' | 'type'): fc.Arbitrary<string> =>
    fc.constantFrom(...new Set(events.slice(0, 2000).map((event) => String(event[name]))));
  const value = fc.oneof(
    known('roomId'),
    known('courseId'),
    known('studyGroup'),
    known('type'),
    fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString()),
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.constantFrom(
      '',
      '0',
      '1',
      '10000',
      '10001',
      '-1',
      'json',
      'msgpack',
      'room',
      'true',
      'NaN',
      '%',
      '%ff',
      '+',
    ),
  );
  const name = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom(
        'roomId',
        'courseId',
        'studyGroup',
        'type',
        'lecturerId',
        'startTime',
        'endTime',
        'limit',
        'cursor',
        'format',
        'by',
        'merge',
        'since',
      ),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
  );
  const pair = fc
    .tuple(
      name,
      value,
      fc.constantFrom(encodeURIComponent, encodeURI, (text: string) => text),
    )
    .map(([key, text, encode]) => {
      try {
        return `${encode(key)}=${encode(text)}`;
      } catch {
        // A lone surrogate cannot be encoded.
        return `${key}=%ED%A0%80`;
      }
    });
  const query = fc.oneof(
    { weight: 12, arbitrary: fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.join('&')) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
    // The longest allowed target.
    {
      weight: 1,
      arbitrary: fc
        .tuple(pair, fc.integer({ min: 10, max: 200 }))
        .map(([one, times]) => Array(times).fill(one).join('&').slice(0, 8000)),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(pair, { minLength: 50, maxLength: 120 })
        .map((pairs) => pairs.join('&').slice(0, 8000)),
    },
  );
  // In the form of node:http: bytes above ASCII and blanks never reach the handler.
  return fc
    .tuple(fc.constantFrom(...PATHS), query)
    .map(
      ([path, text]) =>
        `${path}?${text.replace(/[^\x21-\x7e]/g, (character) => encodeURIComponent(character.isWellFormed() ? character : '?'))}`,
    );
}
