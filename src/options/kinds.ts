/** The kinds of values that settings have: their units, ranges and types, how text is read, and what is wrong with a value. */
import { isIP } from 'node:net';
import { claimsFault } from '../auth/identity.js';
import { SECRET_BYTES_MIN, type SecretUse, secretsIn } from '../auth/key-set.js';
import { keySourceFault } from '../auth/remote-keys.js';
import { originFault } from '../http/answer/answer-fields.js';
import { IDENTITY_FIELDS } from '../model/fields.js';
import type { FieldMap } from '../model/read-rules.js';
import { suggest } from '../model/suggest.js';
import { parseInstant } from '../model/time.js';
import { isZoneAbbreviation, Zone } from '../model/zone.js';
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

function kindOf(
  unit: string,
  range: string,
  isGood: (value: unknown) => boolean,
  more?: Partial<Kind>,
): Kind {
  return {
    unit,
    range,
    type: 'string',
    fault: (value) => (isGood(value) ? null : `it must be ${range}`),
    ...more,
  };
}

function isBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

export function amount(unit: string, min: number, max: number): Kind {
  return kindOf(unit, `a number from ${min} to ${max}`, (value) => isBetween(value, min, max), {
    type: 'number',
    isMeasured: true,
    parse: (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text),
  });
}

/** A whole number from `min` to `max`, or one of `words`. */
export function count(unit: string, min: number, max: number, words: readonly string[] = []): Kind {
  return kindOf(
    unit,
    [`a whole number from ${min} to ${max}`, ...words].join(', or '),
    (value) => words.includes(value as string) || (Number.isInteger(value) && isBetween(value, min, max)),
    {
      type: ['number', ...words.map(quoted)].join(' | '),
      parse: (text) => (/^\d+$/.test(text) ? Number(text) : text),
    },
  );
}

export function oneOf(unit: string, choices: readonly string[], type?: string): Kind {
  return kindOf(unit, anyOf(choices), (value) => choices.includes(value as string), {
    type: type ?? choices.map(quoted).join(' | '),
    choices,
  });
}

function quoted(word: string): string {
  return `'${word}'`;
}

/** A boolean in a program, two words on the command line. */
export function either(unit: string, whenTrue: string, whenFalse: string): Kind {
  const choices = [whenTrue, whenFalse];
  return {
    unit,
    range: `${whenTrue} or ${whenFalse}; true or false in a program`,
    type: 'boolean',
    choices,
    parse: (text) => (choices.includes(text) ? text === whenTrue : text),
    fault: (value) =>
      typeof value === 'boolean'
        ? null
        : `it must be ${typeof value === 'string' ? `${anyOf(choices)} (true or false in a program)` : 'true or false'}`,
  };
}

/** Empty text is refused, because an empty LECTERN_ISSUER would otherwise switch off the check of issuers. */
export function text(unit: string, fault: (value: string) => string | null = () => null): Kind {
  return {
    unit,
    range: 'text that is not empty',
    type: 'string',
    fault: (value) => (typeof value === 'string' && value !== '' ? fault(value) : 'it must not be empty'),
  };
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const PATH: Kind = { ...text('file'), range: 'a path' };

export const PORT: Kind = count('number', 0, 65_535);

export const HOST: Kind = kindOf(
  'address',
  'an IP address or a host name',
  (value) => typeof value === 'string' && (isIP(value) !== 0 || /^[A-Za-z0-9._-]+$/.test(value)),
);

/** A value that only programs can give. The code that uses it checks the content. */
export function given(range: string, type: string, isGood: (value: unknown) => boolean): Kind {
  return kindOf('', range, isGood, { type });
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

const BASE_PATH_RANGE = 'a path that begins with "/" and has only letters, digits and "-._~" in its segments';

export const BASE_PATH: Kind = {
  ...text('path', (path) => {
    // The router treats ":" and "*" as patterns, and clients remove "." and "..".
    const isGood = /^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path);
    return path === '/' || isGood ? null : `it must be ${BASE_PATH_RANGE}`;
  }),
  range: BASE_PATH_RANGE,
};

/** Each origin has 1 KB of header fields. */
const CORS_ORIGINS_MAX = 100;
const ADMIN_ALLOWED_HOSTS_MAX = 100;

export const ORIGINS: Kind = {
  unit: 'origin',
  type: 'readonly string[]',
  range: `up to ${CORS_ORIGINS_MAX} origins`,
  parse: list,
  fault(value) {
    if (!isTextList(value)) return 'it must be a list of origins';
    if (value.length > CORS_ORIGINS_MAX) return `it must be at most ${CORS_ORIGINS_MAX} origins`;
    return value.map(originFault).find((fault) => fault !== null) ?? null;
  },
};

const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

export const HOST_NAMES: Kind = {
  unit: 'name',
  type: 'readonly string[]',
  range: `up to ${ADMIN_ALLOWED_HOSTS_MAX} host names without a port, such as lectern.monitoring.svc`,
  parse: list,
  fault(value) {
    const names = isTextList(value) ? value : [];
    const isCount = names.length > 0 && names.length <= ADMIN_ALLOWED_HOSTS_MAX;
    const isGood = isCount && names.every((name) => HOST_NAME.test(name));
    return isGood ? null : `it must be a list of ${HOST_NAMES.range}`;
  },
};

/** The values of an option that is repeated or separated by commas. */
function list(argument: string, previous: unknown): readonly string[] {
  const given = argument.split(',').map((each) => each.trim());
  return isTextList(previous) ? [...previous, ...given] : given;
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** The value of a secret: text or, in a program, bytes. */
export function secretKind(use: SecretUse): Kind {
  return {
    unit: 'secret',
    type: 'string | Uint8Array',
    range: `at least ${SECRET_BYTES_MIN} bytes, as text or as base64:… or base64url:…; one secret a line, the present one first`,
    fault(value) {
      if (!(value instanceof Uint8Array) && (typeof value !== 'string' || value === ''))
        return 'it must not be empty';
      const secrets = secretsIn(value, use);
      return typeof secrets === 'string' ? secrets : null;
    },
  };
}

export const KEY_SET: Kind = {
  unit: 'file-or-address',
  type: 'object | string',
  range: 'a path or an http(s) address; in a program also a parsed key set',
  fault(value) {
    if (isObject(value)) return null;
    if (typeof value !== 'string') return 'it must be a JSON Web Key Set, or its address';
    return value === '' ? 'it must not be empty' : keySourceFault(value);
  },
};

/** Adds `studyGroup=groups,groupId=gid` to the earlier claims. */
export const CLAIMS: Kind = {
  unit: 'field=claim',
  type: 'Readonly<Record<string, readonly string[]>>',
  range: `field=claim, with one of the fields ${anyOf(IDENTITY_FIELDS.map(({ name }) => name))}`,
  parse(argument, previous) {
    const claims: Record<string, readonly string[]> = {
      ...(previous as Record<string, readonly string[]> | undefined),
    };
    for (const part of argument.split(',')) {
      const equals = part.indexOf('=');
      const field = part.slice(0, Math.max(0, equals)).trim();
      const claim = part.slice(equals + 1).trim();
      if (claim === '' || !IDENTITY_FIELDS.some(({ name }) => name === field)) return argument;
      claims[field] = [...(claims[field] ?? []), claim];
    }
    return claims;
  },
  fault: (value) => (isObject(value) ? claimsFault(value) : `it must be ${CLAIMS.range}`),
};

/** The path of a file or, in a program, what the file would hold. The code that uses it checks the content. */
export function pathOr(content: string, type = 'object'): Kind {
  return {
    ...PATH,
    range: `a path; in a program also ${content}`,
    type: `string | ${type}`,
    fault: (value) => (typeof value === 'object' && value !== null ? null : PATH.fault(value)),
  };
}

export const ADDRESS: Kind = {
  ...text('address', (value) =>
    URL.canParse(value) && /^https?:/i.test(value) ? null : `it must be ${ADDRESS.range}`,
  ),
  range: 'an address, such as https://login.example.org/token',
};

/** Adds `field=column` to the earlier entries. A variable may have several entries, one on each line. */
export const FIELD_MAP: Kind = {
  unit: 'field=column',
  type: 'FieldMap',
  range: 'field=column; in a program an object of them',
  parse(argument, previous) {
    // A fault in an earlier entry is reported.
    if (typeof previous === 'string') return previous;
    const map: Record<string, string> = { ...(previous as Record<string, string> | undefined) };
    for (const line of argument.split('\n').filter((each) => each.trim() !== '')) {
      const equals = line.indexOf('=');
      if (equals === -1) return argument;
      const field = line.slice(0, equals).trim();
      if (Object.hasOwn(map, field)) return line;
      map[field] = line.slice(equals + 1);
    }
    return map;
  },
  fault(value) {
    if (isObject(value)) return fieldMapFault(value as FieldMap);
    const isTwice = typeof value === 'string' && value.includes('=');
    return isTwice
      ? 'another entry has this field already; join columns with a template, such as time={date}T{start}'
      : 'it must be field=column, such as title=Subject or time={date}T{start}';
  },
};

/** Adds `Name: value` to the earlier fields, also with an origin in front. The source checks whether a field can be sent. */
export const HEADER: Kind = {
  unit: 'name:value',
  type: 'Readonly<Record<string, string>>',
  range: '"Name: value" or "https://host Name: value"',
  parse: (argument, previous) => {
    const [, origin = '', rest = ''] = /^\s*(https?:\/\/\S+\s+)?(.*)$/is.exec(argument) ?? [];
    const colon = rest.indexOf(':');
    const name = rest.slice(0, Math.max(0, colon)).trim();
    const value = rest.slice(colon + 1).trim();
    // Without a colon, the secret itself would be taken for the name.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || value === '') return argument;
    const key = origin === '' ? name : `${origin.trim()} ${name}`;
    return { ...(previous as Record<string, string> | undefined), [key]: value };
  },
  fault: (value) => (isObject(value) ? null : `it must be ${HEADER.range}`),
};

export const TIME_ZONE: Kind = {
  unit: 'zone',
  type: 'string',
  range: 'an IANA time zone, such as Europe/Berlin',
  fault(value) {
    if (typeof value !== 'string' || value === '') return `it must be ${TIME_ZONE.range}`;
    try {
      return new Zone(value) && null;
    } catch {
      if (isZoneAbbreviation(value))
        return `there is no such time zone, and an abbreviation may mean several; it must be ${TIME_ZONE.range}`;
      const near = nearestZone(value);
      return near === null
        ? `it must be ${TIME_ZONE.range}`
        : `there is no such time zone; did you mean ${near}?`;
    }
  },
};

/** The zone that was probably meant, also for the name of a city. */
function nearestZone(typed: string): string | null {
  const zones = Intl.supportedValuesOf('timeZone');
  const cityOf = (zone: string): string => zone.slice(zone.lastIndexOf('/') + 1);
  const nearCity = suggest(cityOf(typed), zones.map(cityOf));
  return suggest(typed, zones) ?? zones.find((zone) => cityOf(zone) === nearCity) ?? null;
}

export const ENCODING: Kind = {
  unit: 'name',
  type: 'string',
  range: 'an encoding that TextDecoder knows, such as utf-8, utf-16le or windows-1252',
  fault(value) {
    try {
      return typeof value === 'string' && value !== '' && new TextDecoder(value)
        ? null
        : `it must be ${ENCODING.range}`;
    } catch {
      return `it must be ${ENCODING.range}`;
    }
  },
};

export const DATE: Kind = {
  unit: 'date',
  type: 'string',
  range: 'a date, such as 2026-09-01',
  fault(value) {
    if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return `it must be ${DATE.range}`;
    const instant = parseInstant(`${value}T00:00:00Z`);
    return typeof instant === 'number' ? null : instant;
  },
};
