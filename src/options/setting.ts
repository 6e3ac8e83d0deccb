import type { Condition, Faults } from './conditions.js';
import type { Kind } from './kinds.js';

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
 * One entry of the table of settings. Flags, environment variables, the library's types and checks, `--help` and
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
  /** Whether only the object of options needs this setting. */
  readonly isRequiredInProgram?: boolean;
  /** Without these, the setting has no effect. A name stands for the setting of that name. */
  readonly needs?: readonly (string | Condition)[];
  /** With these, the setting has no effect. */
  readonly excludes?: readonly (string | Condition)[];
  /** Other faults of the setting beside others: messages, in which `{name}` is a setting. */
  readonly faults?: Faults;
  /** Faults that only the command line has. */
  readonly commandFaults?: Faults;
  /** What is accepted on the command line, but is probably a mistake. */
  readonly warnings?: Faults;
  /** Whether the setting has no flag, because the list of processes would show the secret. */
  readonly isEnvironmentOnly?: boolean;
  /** Whether messages must never repeat the value. */
  readonly isSecret?: boolean;
  readonly group: SettingGroup;
  readonly kind: Kind;
  /** Undefined if the default depends on other settings; `help` then explains the default. */
  readonly default?: string | number | boolean;
  /** A sentence without a full stop at its end. */
  readonly help: string;
}

type SettingEntry = Omit<Setting, 'name' | 'group' | 'places' | 'flag' | 'commands'> &
  Partial<Pick<Setting, 'group' | 'places' | 'flag' | 'commands'>>;

export const SERVE_ONLY: readonly CommandName[] = ['serve'];
export const SERVE_AND_PUBLISH: readonly CommandName[] = ['serve', 'publish'];

/** What the entries of a group have in common. */
export type Common = Partial<SettingEntry>;

/** Fills in the flag, and what the entries of a group have in common; an entry may have its own. */
export function inGroup(
  group: SettingGroup,
  { places = [], commands = ['serve'], ...common }: Common,
  entries: Readonly<Record<string, SettingEntry>>,
): readonly Setting[] {
  return Object.entries(entries).map(([name, entry]) => ({
    name,
    group,
    places,
    flag: flagOf(name),
    commands,
    ...common,
    ...entry,
  }));
}

/** `refreshSeconds` has the flag `--refresh-seconds`. */
function flagOf(name: string): Setting['flag'] {
  return `--${name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
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
