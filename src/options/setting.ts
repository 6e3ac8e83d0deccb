import { isIP } from 'node:net';

/** The object of the library that an option belongs to. `auth`, `feed`, `admin` and `gate` are objects within others. */
export type Place = 'openTimetable' | 'gate' | 'serve' | 'handler' | 'publish' | 'auth' | 'feed' | 'admin';

/** The commands of the command line that serve or publish. */
export type CommandName = 'serve' | 'publish';

export type SettingGroup =
  | 'Listening'
  | 'Data'
  | 'Reading'
  | 'Databases'
  | 'Refreshing'
  | 'Publishing'
  | 'Tokens'
  | 'Users'
  | 'Feeds'
  | 'Operating'
  | 'Logging';

/**
 * One entry of the table of settings. Flags, environment variables, the library's checks, `--help` and
 * docs/configuration.md come from this table.
 */
export interface Setting {
  readonly name: string;
  /** Empty for settings of the command line only. */
  readonly places: readonly Place[];
  /** The name of the setting in a program, if it differs from `name`. */
  readonly option?: string;
  /** The flag on the command line; null for settings that only programs have. */
  readonly flag: `--${string}` | null;
  /**
   * The environment variable; null for none. By default, its name is made from the flag: `--base-path` gives
   * LECTERN_BASE_PATH.
   */
  readonly variable?: string | null;
  /** The commands that have the flag. */
  readonly commands: readonly CommandName[];
  readonly short?: `-${string}`;
  /** Whether the flag takes no value and means `on`. */
  readonly isSwitch?: boolean;
  /** Whether the command or the object of options needs this setting. */
  readonly isRequired?: boolean;
  /** The value of a flag that is given without a value. */
  readonly preset?: string;
  /** Whether the setting has no flag, because the list of processes would show the secret. */
  readonly isEnvironmentOnly?: boolean;
  /** Whether messages must never repeat the value. */
  readonly isSecret?: boolean;
  readonly group: SettingGroup;
  readonly kind: Kind;
  /** Undefined if the default depends on other settings; `help` then explains the default. */
  readonly default?: string | number | boolean;
  /** One sentence without a full stop. */
  readonly help: string;
}

type SettingEntry = Omit<Setting, 'name' | 'group' | 'places' | 'flag' | 'commands'> &
  Partial<Pick<Setting, 'group' | 'places' | 'flag' | 'commands'>>;

export const SERVE_ONLY: readonly CommandName[] = ['serve'];
export const SERVE_AND_PUBLISH: readonly CommandName[] = ['serve', 'publish'];

/** Fills in the group, place, flag and commands of entries that do not have their own. */
export function inGroup(
  group: SettingGroup,
  place: Place,
  entries: Readonly<Record<string, SettingEntry>>,
  commands: readonly CommandName[] = SERVE_ONLY,
): readonly Setting[] {
  return Object.entries(entries).map(([name, entry]) => ({
    name,
    group,
    places: [place],
    flag: flagOf(name),
    commands,
    ...entry,
  }));
}

/** `refreshSeconds` has the flag `--refresh-seconds`. */
function flagOf(name: string): Setting['flag'] {
  return `--${name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
}

export interface Kind {
  /** The unit shown in `--help`, such as `seconds`. */
  readonly unit: string;
  /** Whether values are amounts of the unit, such as seconds; other units only name a kind of value. */
  readonly isMeasured?: boolean;
  readonly range: string;
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
  return { unit, range, fault: (value) => (isGood(value) ? null : `it must be ${range}`), ...more };
}

function isBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

export function amount(unit: string, min: number, max: number): Kind {
  return kindOf(unit, `a number from ${min} to ${max}`, (value) => isBetween(value, min, max), {
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
    { parse: (text) => (/^\d+$/.test(text) ? Number(text) : text) },
  );
}

export function oneOf(unit: string, choices: readonly string[]): Kind {
  return kindOf(unit, anyOf(choices), (value) => choices.includes(value as string), { choices });
}

/** A boolean in a program, two words on the command line. */
export function either(unit: string, whenTrue: string, whenFalse: string): Kind {
  const choices = [whenTrue, whenFalse];
  return {
    unit,
    range: `${whenTrue} or ${whenFalse}; true or false in a program`,
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
export function given(range: string, isGood: (value: unknown) => boolean): Kind {
  return kindOf('', range, isGood);
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

/** `--refresh-seconds` is LECTERN_REFRESH_SECONDS. */
export function variableOf({ flag, variable }: Setting): string | undefined {
  if (flag === null || variable === null) return undefined;
  return variable ?? `LECTERN_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`;
}

/** The default, as shown by `--help` and the docs. */
export function shownDefault({ default: usual, kind: { choices } }: Setting): string {
  return typeof usual === 'boolean' && choices !== undefined ? (choices[usual ? 0 : 1] ?? '') : String(usual);
}
