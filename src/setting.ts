import { isIP } from 'node:net';
import { ADMIN_ALLOWED_HOSTS_MAX } from './limits.js';
import type { ServeSettings } from './service-options.js';

export type SettingName = Exclude<keyof ServeSettings, 'source'>;

/** One setting, on the command line and in the environment. */
export interface Setting {
  readonly name: SettingName;
  /** As commander has it: `--port <number>`. Null where a secret would show in the list of processes. */
  readonly flags: string | null;
  readonly environment: `LECTERN_${string}`;
  readonly group: 'Listening' | 'Data' | 'Refreshing' | 'Tokens' | 'Users' | 'Operating' | 'Logging';
  /** The defaults of the service itself; undefined where there is none, or where it depends. */
  readonly default?: string | number | boolean;
  readonly choices?: readonly string[];
  readonly description: string;
  /** Whether the text may hold a secret, and so is never repeated in a message. Default false. */
  readonly isSecret?: boolean;
  /** From text to value; without it the text is the value. Whatever it returns is still checked by `fault`. */
  readonly parse?: (text: string, previous: unknown) => unknown;
  /** What a value must be, where it is not; null where it is good. */
  readonly fault: (value: unknown) => string | null;
}

export function oneOf(choices: readonly string[]): Pick<Setting, 'choices' | 'fault'> {
  return {
    choices,
    fault: (value) => (choices.some((choice) => choice === value) ? null : `it must be ${anyOf(choices)}`),
  };
}

/** A number from min to max; text is turned into one. */
export function amount(min: number, max: number, whole = false): Pick<Setting, 'parse' | 'fault'> {
  return {
    parse: (given) => (/^\d+(\.\d+)?$/.test(given) ? Number(given) : given),
    fault: (value) =>
      typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))
        ? null
        : `it must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}`,
  };
}

/** A TCP port, or 0 for any free one. */
export const PORT: Pick<Setting, 'parse' | 'fault'> = {
  parse: (text) => (/^\d+$/.test(text) ? Number(text) : text),
  fault: (value) =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535
      ? null
      : 'it must be a whole number from 0 to 65535',
};

/** What can be listened on. */
export function host(value: unknown): string | null {
  return typeof value === 'string' && (isIP(value) !== 0 || /^[A-Za-z0-9._-]+$/.test(value))
    ? null
    : 'it must be an IP address or a host name';
}

/** Letters, digits, hyphens and underscores between dots. */
const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

/** A list of host names, without ports. */
export function hostNames(names: unknown): string | null {
  const expected = 'it must be a list of host names, without a port, such as lectern.monitoring.svc';
  if (!Array.isArray(names) || names.length === 0) return expected;
  if (names.length > ADMIN_ALLOWED_HOSTS_MAX)
    return `it must be at most ${ADMIN_ALLOWED_HOSTS_MAX} host names`;
  return names.every((name) => typeof name === 'string' && HOST_NAME.test(name)) ? null : expected;
}

/** Empty is never meant: an empty LECTERN_ISSUER that passed for "not given" would switch a check off. */
export function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? null : 'it must not be empty';
}

/** `a, b or c`. */
export function anyOf(choices: readonly string[]): string {
  return choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}
