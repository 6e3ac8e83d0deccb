/** The kinds of values that settings have: their units, ranges and types, how text is read, and what is wrong with a value. */
import { isIP } from 'node:net';
import { claimsFault } from '../auth/identity.js';
import { SECRET_BYTES_MIN, type SecretUse, secretsIn } from '../auth/key-set.js';
import { keySourceFault } from '../auth/remote-keys.js';
import { IDENTITY_FIELDS } from '../base/model/fields.js';
import type { FieldMap } from '../base/model/read-rules.js';
import { suggest } from '../base/model/suggest.js';
import { parseInstant } from '../base/model/time.js';
import { isZoneAbbreviation, Zone } from '../base/model/zone.js';
import { fieldMapFault } from '../source/field-map.js';

export interface Kind {
  /** The unit shown in `--help`, such as `seconds`. */
  readonly unit: string;
  /** Whether values are amounts of the unit, such as seconds; other units only name a kind of value. */
  readonly isMeasured?: boolean;
  readonly range: string;
  /** The TypeScript type of a value in a program. */
  readonly type: string;
  /** The only texts accepted by the command line. */
  readonly choices?: readonly string[];
  /** Turns text of the command line into the value that `fault` checks. Default: the text. */
  readonly parse?: (text: string, previous: unknown) => unknown;
  /** Returns null for a good value, otherwise a clause such as "it must be …". */
  readonly fault: (value: unknown) => string | null;
}

/** @param check true for a good value; false, or a clause of its own, for another */
function kindOf(
  unit: string,
  type: string,
  range: string,
  check: (value: unknown) => boolean | string,
  more?: Partial<Kind>,
): Kind {
  const fault = (value: unknown): string | null => {
    const found = check(value);
    if (found === true) return null;
    return found === false ? `it must be ${range}` : found;
  };
  return { unit, type, range, fault, ...more };
}

function isBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

export function amount(unit: string, min: number, max: number): Kind {
  const isGood = (value: unknown): boolean => isBetween(value, min, max);
  return kindOf(unit, 'number', `a number from ${min} to ${max}`, isGood, {
    isMeasured: true,
    parse: (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text),
  });
}

/** A whole number from `min` to `max`, or one of `words`. */
export function count(unit: string, min: number, max: number, words: readonly string[] = []): Kind {
  return kindOf(
    unit,
    ['number', ...words.map(quoted)].join(' | '),
    [`a whole number from ${min} to ${max}`, ...words].join(', or '),
    (value) => words.includes(value as string) || (Number.isInteger(value) && isBetween(value, min, max)),
    { parse: (text) => (/^\d+$/.test(text) ? Number(text) : text) },
  );
}

export function oneOf(unit: string, choices: readonly string[], type?: string): Kind {
  const isGood = (value: unknown): boolean => choices.includes(value as string);
  return kindOf(unit, type ?? choices.map(quoted).join(' | '), anyOf(choices), isGood, { choices });
}

function quoted(word: string): string {
  return `'${word}'`;
}

/** A boolean in a program, two words on the command line. */
export const ON_OFF: Kind = kindOf(
  'how',
  'boolean',
  'on or off; true or false in a program',
  (value) =>
    typeof value === 'boolean' ||
    `it must be ${typeof value === 'string' ? 'on or off (true or false in a program)' : 'true or false'}`,
  { choices: ['on', 'off'], parse: (text) => (['on', 'off'].includes(text) ? text === 'on' : text) },
);

const ANY_TEXT = 'text that is not empty';

/** Empty text is refused, because an empty LECTERN_ISSUER would otherwise switch off the check of issuers. */
export function text(
  unit: string,
  range: string = ANY_TEXT,
  check: (value: string) => boolean | string = () => true,
  more?: Partial<Kind>,
): Kind {
  const isGood = (value: unknown): boolean | string =>
    typeof value === 'string' && value !== '' ? check(value) : 'it must not be empty';
  return kindOf(unit, 'string', range, isGood, more);
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const PATH: Kind = text('file', 'a path');

export const PORT: Kind = count('number', 0, 65_535);

export const HOST: Kind = text(
  'address',
  'an IP address or a host name',
  (value) => isIP(value) !== 0 || /^[A-Za-z0-9._-]+$/.test(value),
);

/** A value that only programs can give. The code that uses it checks the content. */
export function given(range: string, type: string, isGood: (value: unknown) => boolean): Kind {
  return kindOf('', type, range, isGood);
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

/** `a, b or c`. */
export function anyOf(choices: readonly string[]): string {
  return choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}

export const BASE_PATH: Kind = text(
  'path',
  'a path that begins with "/" and has only letters, digits and "-._~" in its segments',
  // The router treats ":" and "*" as patterns, and clients remove "." and "..".
  (path) => path === '/' || (/^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path)),
);

/** A list of texts: a flag is repeated, or its values are separated by commas. */
export function list(
  unit: string,
  max: number,
  what: string,
  check: (each: string) => boolean | string,
): Kind {
  const range = `up to ${max} ${what}`;
  const isGood = (value: unknown): boolean | string => {
    if (!isTextList(value) || value.length === 0 || value.length > max)
      return `it must be a list of ${range}`;
    return value.map(check).find((found) => found !== true) ?? true;
  };
  return kindOf(unit, 'readonly string[]', range, isGood, {
    parse(argument, previous) {
      const values = argument.split(',').map((each) => each.trim());
      return isTextList(previous) ? [...previous, ...values] : values;
    },
  });
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** The value of a secret: text or, in a program, bytes. */
export function secretKind(use: SecretUse): Kind {
  return kindOf(
    'secret',
    'string | Uint8Array',
    `at least ${SECRET_BYTES_MIN} bytes, as text or as base64:… or base64url:…; one secret a line, the present one first`,
    (value) => {
      if (!(value instanceof Uint8Array) && (typeof value !== 'string' || value === ''))
        return 'it must not be empty';
      const secrets = secretsIn(value, use);
      return typeof secrets === 'string' ? secrets : true;
    },
  );
}

/** A text or, in a program, what the text would lead to. The code that uses it checks the content. */
function orObject(kind: Kind, content: string, type: string): Kind {
  const range = `${kind.range}; in a program also ${content}`;
  return {
    ...kind,
    range,
    type,
    fault: (value) => {
      if (typeof value === 'object' && value !== null) return null;
      return typeof value === 'string' ? kind.fault(value) : `it must be ${range}`;
    },
  };
}

/** The path of a file or, in a program, what the file would hold. */
export function pathOr(content: string, type = 'object'): Kind {
  return orObject(PATH, content, `string | ${type}`);
}

export const KEY_SET: Kind = orObject(
  text('file-or-address', 'a path or an http(s) address', (value) => keySourceFault(value) ?? true),
  'a parsed key set',
  'object | string',
);

/** Adds `studyGroup=groups,groupId=gid` to the earlier claims. */
export const CLAIMS: Kind = kindOf(
  'field=claim',
  'Readonly<Record<string, readonly string[]>>',
  `field=claim, with one of the fields ${anyOf(IDENTITY_FIELDS.map(({ name }) => name))}`,
  (value) => isObject(value) && (claimsFault(value) ?? true),
  {
    parse(argument, previous) {
      const claims = { ...(previous as Record<string, readonly string[]> | undefined) };
      for (const part of argument.split(',')) {
        const [, field = '', claim = ''] = /^([^=]*)=(.*)$/s.exec(part)?.map((each) => each.trim()) ?? [];
        if (claim === '' || !IDENTITY_FIELDS.some(({ name }) => name === field)) return argument;
        claims[field] = [...(claims[field] ?? []), claim];
      }
      return claims;
    },
  },
);

export const ADDRESS: Kind = text(
  'address',
  'an address, such as https://login.example.org/token',
  (value) => URL.canParse(value) && /^https?:/i.test(value),
);

/** Adds `field=column` to the earlier entries. A variable may have several entries, one on each line. */
export const FIELD_MAP: Kind = kindOf(
  'field=column',
  'FieldMap',
  'field=column; in a program an object of them',
  (value) => {
    if (isObject(value)) return fieldMapFault(value as FieldMap) ?? true;
    const isTwice = typeof value === 'string' && value.includes('=');
    return isTwice
      ? 'another entry has this field already; join columns with a template, such as time={date}T{start}'
      : 'it must be field=column, such as title=Subject or time={date}T{start}';
  },
  {
    parse(argument, previous) {
      // A fault in an earlier entry is reported.
      if (typeof previous === 'string') return previous;
      const map = { ...(previous as Record<string, string> | undefined) };
      for (const line of argument.split('\n').filter((each) => each.trim() !== '')) {
        const equals = line.indexOf('=');
        if (equals === -1) return argument;
        const field = line.slice(0, equals).trim();
        if (Object.hasOwn(map, field)) return line;
        map[field] = line.slice(equals + 1);
      }
      return map;
    },
  },
);

/** Adds `Name: value` to the earlier fields, also with an origin in front. The source checks whether a field can be sent. */
export const HEADER: Kind = kindOf(
  'name:value',
  'Readonly<Record<string, string>>',
  '"Name: value" or "https://host Name: value"',
  isObject,
  {
    parse(argument, previous) {
      // Without a colon, the secret itself would be taken for the name.
      const [, origin = '', name = '', value = ''] =
        /^\s*(https?:\/\/\S+\s+|(?!https?:\/\/))([!#$%&'*+.^_`|~0-9a-z-]+)\s*:(.*)$/is.exec(argument) ?? [];
      if (value.trim() === '') return argument;
      const key = origin === '' ? name : `${origin.trim()} ${name}`;
      return { ...(previous as Record<string, string> | undefined), [key]: value.trim() };
    },
  },
);

export const TIME_ZONE: Kind = text('zone', 'an IANA time zone, such as Europe/Berlin', (value) => {
  try {
    return new Zone(value) instanceof Zone;
  } catch {
    if (isZoneAbbreviation(value))
      return `there is no such time zone, and an abbreviation may mean several; it must be ${TIME_ZONE.range}`;
    const near = nearestZone(value);
    return near !== null && `there is no such time zone; did you mean ${near}?`;
  }
});

/** The zone that was probably meant, also for the name of a city. */
function nearestZone(typed: string): string | null {
  const zones = Intl.supportedValuesOf('timeZone');
  const cityOf = (zone: string): string => zone.slice(zone.lastIndexOf('/') + 1);
  const nearCity = suggest(cityOf(typed), zones.map(cityOf));
  return suggest(typed, zones) ?? zones.find((zone) => cityOf(zone) === nearCity) ?? null;
}

export const ENCODING: Kind = text(
  'name',
  'an encoding that TextDecoder knows, such as utf-8, utf-16le or windows-1252',
  (value) => {
    try {
      return new TextDecoder(value) instanceof TextDecoder;
    } catch {
      return false;
    }
  },
);

export const DATE: Kind = text('date', 'a date, such as 2026-09-01', (value) => {
  if (!/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const instant = parseInstant(`${value}T00:00:00Z`);
  return typeof instant === 'number' || instant;
});
