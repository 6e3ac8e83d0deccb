/**
 * One JSON document whose records lie somewhere within it. A JSONata expression gives the records. The expression is
 * bounded in time, depth and results; the memory of the document is judged before it is parsed.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { resourceLimits } from 'node:worker_threads';
import type { Expression, JsonataOptions } from 'jsonata';
import { type LecternError, tooLarge } from '../../base/errors.js';
import { onFirstUse } from '../../base/files/load-on-use.js';
import {
  RECORDS_BYTES_MAX,
  RECORDS_DEPTH_MAX,
  RECORDS_EXPRESSION_MS_MAX,
  RECORDS_MAX,
  RECORDS_SHOWN_MAX,
  RECORDS_TEXT_UNITS_MAX,
} from '../../base/limits.js';
import { describeJsonFault } from '../../base/model/json-fault.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { quoteEscaped } from '../../base/model/text.js';
import type { FieldTable } from '../field-map.js';
import { type FormatReader, malformed } from './reader.js';

/** Records given to the table in one step: 10 ms. */
const RECORDS_AT_ONCE = 1000;

/** Estimated bytes on the heap: of an object or array, and of a value or key. */
const CONTAINER_BYTES = 64;
const VALUE_BYTES = 32;

/** Why an expression cannot be used, as a clause; null if it can. */
export async function recordsFault(expression: string): Promise<string | null> {
  try {
    await compile(expression);
    return null;
  } catch (error) {
    return `it is no expression of JSONata: ${problemOf(error as JsonataError)}; expected one such as schedules.*[]`;
  }
}

/** The code of an expression that needs too much memory. */
const MEMORY_CODE = 'MEMORY';
/** The code of an expression that makes a text longer than any field. */
const TEXT_CODE = 'TEXT';
/** The most steps of an expression between two looks at the memory. */
const STEPS_BETWEEN_LOOKS_MAX = 16;
/** What a step takes at most: RECORDS_MAX values. */
const STEP_BYTES_MAX: number = 8 * RECORDS_MAX;
/** A step that makes a large text takes longer. */
const LOOK_MS = 2;
const HEAP_SHARE_MAX = 0.85;
/** The part of V8's limit that young objects have: 48 MiB in Node 20 and 22, 192 in 24, 96 in 26. */
const YOUNG_BYTES_MAX: number = 192 * 2 ** 20;

/** The most bytes of old objects. Only threads are told this limit; the limit of a process includes young objects. */
function oldBytesMax(): number {
  const { maxOldGenerationSizeMb } = resourceLimits;
  if (maxOldGenerationSizeMb !== undefined) return maxOldGenerationSizeMb * 2 ** 20;
  const { heap_size_limit: limit } = getHeapStatistics();
  return Math.max(limit - YOUNG_BYTES_MAX, limit / 3);
}

/**
 * Refuses an expression before V8 ends the process, as it does with a thread that has no memory left. The heap may hold
 * garbage, so it is collected first, which only an expression near the bound pays.
 */
class MemoryGuard {
  #stepsToLook = 0;
  #lookedMs = 0;
  /** Bytes of texts since the last look: a function such as `$map` makes many in one step. */
  #textBytes = 0;
  #collect: (() => void) | null = null;

  /**
   * @param textUnits UTF-16 units of a text that is made next
   * @throws JsonataError with the code MEMORY_CODE
   */
  step(textUnits = 0): void {
    this.#textBytes += 2 * textUnits;
    const nowMs = performance.now();
    const isSoon = --this.#stepsToLook > 0 && nowMs - this.#lookedMs < LOOK_MS;
    if (isSoon && this.#textBytes <= STEP_BYTES_MAX) return;
    const most = HEAP_SHARE_MAX * oldBytesMax() - 2 * textUnits;
    let left = most - getHeapStatistics().used_heap_size;
    if (left < 0) {
      this.#collectGarbage();
      left = most - getHeapStatistics().used_heap_size;
    }
    this.#textBytes = 0;
    if (left < 0) {
      const value = Math.floor((HEAP_SHARE_MAX * oldBytesMax()) / 2 ** 20);
      throw Object.assign(new Error('out of memory'), { code: MEMORY_CODE, value });
    }
    this.#stepsToLook = Math.min(STEPS_BETWEEN_LOOKS_MAX, Math.floor(left / STEP_BYTES_MAX));
    this.#lookedMs = performance.now();
  }

  #collectGarbage(): void {
    if (this.#collect === null) {
      setFlagsFromString('--expose-gc');
      this.#collect = runInNewContext('gc') as () => void;
    }
    this.#collect();
  }
}

interface JsonataError extends Error {
  readonly code?: string;
  /** The number of characters up to the end of the token. */
  readonly position?: number;
  readonly token?: unknown;
  readonly value?: unknown;
}

/** What is wrong with an expression, by the code of JSONata. `found` is its token in quotes. */
const PROBLEMS: Readonly<Record<string, (found: string, value: string) => string>> = {
  D1011: () => `it calls itself more than ${RECORDS_DEPTH_MAX} times without an end`,
  D1012: (_, value) => `it took more than ${value} ms; expected one that only finds records`,
  [MEMORY_CODE]: (_, value) =>
    `it needs more than ${value} MiB of memory; expected one that only finds records`,
  [TEXT_CODE]: (_, value) =>
    `it makes a text of up to ${value} characters; expected at most ${RECORDS_TEXT_UNITS_MAX}`,
  D2015: () => `it gives more than ${RECORDS_MAX} values`,
  D2014: () => `a range in it gives more than ${RECORDS_MAX} values`,
  S0101: () => 'a text in quotes has no end',
  S0105: () => 'a name in backquotes has no end',
  S0201: (found) => `${found} has no meaning there`,
  S0202: (found, value) => `found ${found}; expected ${value}`,
  S0203: (_, value) => `it ends early; expected ${value}`,
  S0204: (found) => `there is no operator ${found}`,
  S0205: (found) => `${found} has no meaning there`,
  S0207: () => 'it ends early',
  S0211: (found) => `${found} has no meaning before a value`,
  S0302: () => 'a pattern has no end; expected /',
  T0410: (found) => `the function ${found} does not take such a value`,
  T1005: (found) => `${found} is no function; expected a name with $ before it`,
  T1006: (found) => `${found} is no function`,
  T2001: () => 'the value on the left is no number',
  T2002: () => 'the value on the right is no number',
};

/** JSONata quotes whole values. */
const MESSAGE_UNITS_MAX = 200;

/** The problem as a clause. JSONata's own words are kept only for what is rare. */
function problemOf({ code = '', position, token, value, message }: JsonataError): string {
  const [found, shown] = [token, value].map((each) => quoteEscaped(String(each)));
  const known = PROBLEMS[code]?.(
    found as string,
    typeof value === 'number' ? String(value) : (shown as string),
  );
  const where = position === undefined ? '' : `character ${position}: `;
  if (/^Invalid (?:string|array) length$/.test(message))
    return `${where}it makes a text or a list that is too long; expected one that only finds records`;
  const plain = message
    .slice(0, MESSAGE_UNITS_MAX)
    .replace(/^error parsing regexp: /, 'its pattern is none of RE2: ');
  return where + (known ?? (code === '' ? plain : `JSONata refuses it with ${code} (${plain})`));
}

const loadEngines = onFirstUse(() => Promise.all([import('jsonata'), import('re2js')]));

/** The engine of JSONata runs patterns only by `exec`, so patterns run in linear time. */
async function compile(
  expression: string,
  memory: MemoryGuard = new MemoryGuard(),
  msMax: number = RECORDS_EXPRESSION_MS_MAX,
): Promise<Expression> {
  const [{ default: jsonata }, { RE2JS }] = await loadEngines();
  class LinearPattern {
    lastIndex = 0;
    readonly #pattern: InstanceType<typeof RE2JS>;
    readonly #isGlobal: boolean;

    constructor({ source, flags, ignoreCase, multiline }: RegExp) {
      const own = (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) | (multiline ? RE2JS.MULTILINE : 0);
      this.#pattern = RE2JS.compile(source, own);
      this.#isGlobal = flags.includes('g');
    }

    exec(text: string): RegExpExecArray | null {
      const matcher = this.#pattern.matcher(text);
      if (!matcher.find(this.lastIndex)) return null;
      if (this.#isGlobal) this.lastIndex = matcher.end();
      const groups = Array.from(
        { length: matcher.groupCount() + 1 },
        (_, n) => matcher.group(n) ?? undefined,
      );
      return Object.assign(groups, { index: matcher.start(), input: text }) as unknown as RegExpExecArray;
    }
  }
  const options: JsonataOptions = {
    timeout: msMax,
    // JSONata reads this bound at each step.
    get stack() {
      memory.step();
      return RECORDS_DEPTH_MAX;
    },
    sequence: RECORDS_MAX,
    RegexEngine: LinearPattern as unknown as RegExpConstructor,
  };
  const compiled = jsonata(expression, options);
  for (const [name, signature, lengthOf, own] of LONG_TEXTS) {
    const { implementation } = (await jsonata(`$${name}`).evaluate(null)) as BuiltIn;
    compiled.registerFunction(
      name,
      function (this: unknown, ...given: Given) {
        const value = lengthOf(...given);
        if (value > RECORDS_TEXT_UNITS_MAX)
          throw Object.assign(new Error('too long'), { code: TEXT_CODE, value });
        memory.step(value);
        return (own ?? implementation).apply(this, [...given]);
      },
      signature,
    );
  }
  return compiled;
}

/** A function of JSONata. */
interface BuiltIn {
  readonly implementation: (...given: unknown[]) => unknown;
}

type Given = readonly [first: unknown, second: unknown, third: unknown];

/** The functions that make a long text of short ones in one step, and the most characters of their result. */
const LONG_TEXTS: readonly (readonly [
  name: string,
  signature: string,
  lengthOf: (...given: Given) => number,
  own?: BuiltIn['implementation'],
])[] = [
  ['pad', '<s-ns?:s>', (_text, width) => Math.abs(Number(width ?? 0)), padded as BuiltIn['implementation']],
  ['join', '<a<s>s?:s>', (texts, separator) => joinedLength((texts ?? []) as string[], separator ?? '')],
  [
    'replace',
    '<s-(sf)(sf)n?:s>',
    (text, _pattern, by) => (typeof by === 'string' ? String(text ?? '').length * by.length : 0),
  ],
];

/** `$pad` without an array of its characters, which takes 8 bytes for each. Lengths are in code points. */
function padded(text: string | undefined, width: number, given?: string): string | undefined {
  if (text === undefined) return undefined;
  let missing = Math.abs(Math.trunc(width));
  for (const _ of text) missing--;
  if (!(missing > 0)) return text;
  const by = [...(given || ' ').slice(0, 2 * missing)];
  const padding = by.join('').repeat(missing / by.length) + by.slice(0, missing % by.length).join('');
  const made = width > 0 ? text + padding : padding + text;
  // V8 joins texts on their first use: done here, the heap shows their bytes to MemoryGuard.
  made.charCodeAt(0);
  return made;
}

function joinedLength(texts: readonly string[], separator: unknown): number {
  const between = String(separator).length;
  return texts.reduce((length, text) => length + text.length + between, 0);
}

export class NestedJsonReader implements FormatReader {
  readonly format = 'json-array';
  readonly selfDelimiting = true;
  records = 0;
  readonly #sourceName: string;
  readonly #table: FieldTable;
  readonly #expression: string;
  /** Where the timetable file has the expression. */
  readonly #place: string;
  readonly #msMax: number | undefined;
  readonly #memory = new MemoryGuard();
  #chunks: Buffer[] = [];
  #bytes = 0;
  #values: unknown[] = [];

  /** @param msMax longest time of the expression */
  constructor(
    sourceName: string,
    table: FieldTable,
    { records = '$', places }: ReadRules,
    _head?: Buffer,
    msMax?: number,
  ) {
    this.#msMax = msMax;
    this.#sourceName = sourceName;
    this.#table = table;
    this.#expression = records;
    this.#place = places?.records === undefined ? '' : ` (at ${places.records})`;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > RECORDS_BYTES_MAX) {
      const problem = `it has more than ${RECORDS_BYTES_MAX} bytes, the most of a document whose records an expression gives`;
      throw tooLarge(this.#sourceName, problem);
    }
    this.#chunks.push(Buffer.from(chunk));
  }

  async finish(): Promise<void> {
    const document = this.#parse();
    const expression = await compile(this.#expression, this.#memory, this.#msMax).catch((error: Error) => {
      throw this.#failed(error);
    });
    // Without copies of its own: an expression cannot change the document.
    const found: unknown = await expression.evaluate(document).catch((error: Error) => {
      throw this.#failed(error);
    });
    if (found === undefined || found === null) {
      const names = typeof document === 'object' && document !== null ? Object.keys(document) : [];
      const shown = names.slice(0, RECORDS_SHOWN_MAX).map(quoteEscaped).join(', ');
      const has =
        names.length === 0
          ? ''
          : `; the document has ${shown}${names.length > RECORDS_SHOWN_MAX ? ', …' : ''}`;
      throw malformed(
        this.#sourceName,
        `records ${quoteEscaped(this.#expression)}${this.#place} gives nothing${has}`,
      );
    }
    this.#values = Array.isArray(found) ? found : [found];
  }

  *rest(): Generator<void> {
    const { row } = this.#table;
    for (const [n, value] of this.#values.entries()) {
      row.record = ++this.records;
      this.#checkTexts(value);
      // Texts joined with & take their bytes when they are read, and only until the next record.
      this.#values[n] = null;
      this.#table.object(value);
      if (this.records % RECORDS_AT_ONCE === 0) yield;
    }
  }

  #checkTexts(value: unknown): void {
    try {
      this.#memory.step(textUnitsOf(value, TEXTS_DEPTH_MAX));
    } catch (error) {
      throw this.#failed(error as JsonataError);
    }
  }

  #parse(): unknown {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    // If memory ran out within the one call of the parser, V8 would end the process instead of the thread.
    const room = oldBytesMax() - getHeapStatistics().used_heap_size;
    const needed = heapBytesOf(bytes);
    if (needed > room) {
      const [takes, left] = [needed, room].map((each) => `${Math.ceil(each / 2 ** 20)} MiB`);
      const problem = `its document of ${bytes.length} bytes takes about ${takes} of memory, and the load has ${left} left`;
      throw tooLarge(this.#sourceName, problem);
    }
    const text = bytes.toString('utf8');
    try {
      return JSON.parse(text);
    } catch (error) {
      const problem = error instanceof RangeError ? 'it is nested too deeply' : describeJsonFault(text);
      throw malformed(this.#sourceName, `it is not one JSON document: ${problem}`);
    }
  }

  #failed(error: JsonataError): LecternError {
    const expression = `records ${quoteEscaped(this.#expression)}${this.#place}`;
    return malformed(this.#sourceName, `${expression}: ${problemOf(error)}`);
  }
}

/** Objects within each other whose texts are counted. */
const TEXTS_DEPTH_MAX = 4;

/** UTF-16 units of the texts of a record. */
function textUnitsOf(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length;
  if (depth === 0 || typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((units: number, each) => units + textUnitsOf(each, depth - 1), 0);
}

/** An estimate from above of what a parsed document takes. */
function heapBytesOf(bytes: Buffer): number {
  let containers = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x7b || byte === 0x5b) containers++;
    else if (byte === 0x2c || byte === 0x3a) values++;
  }
  return 2 * bytes.length + CONTAINER_BYTES * containers + VALUE_BYTES * values;
}
