/** From what was given to values that hold: checked once, by the table and its rules, with defaults filled in. */
import { LecternError } from '../errors.js';
import { suggest } from '../structures/suggest.js';
import type { Resolved } from './places.js';
import { RULES, type Rule, type Values } from './rules.js';
import type { ResolvedSettings, ServiceOptions } from './service-settings.js';
import { labelOf, type Place, type Setting } from './setting.js';
import { SETTINGS, settingsOf } from './table.js';

/** How options of a place are called in messages: the method that takes them, and what stands before their names. */
const TAKERS: Readonly<Record<Place, { readonly method: string; readonly prefix: string }>> = {
  openTimetable: { method: 'openTimetable()', prefix: '' },
  gate: { method: 'openTimetable({ gate })', prefix: 'gate.' },
  serve: { method: 'serve()', prefix: '' },
  handler: { method: 'handler()', prefix: '' },
  auth: { method: 'auth', prefix: 'auth.' },
  admin: { method: 'serve({ admin })', prefix: 'admin.' },
};

/** What this room has checked already. */
const checked = new WeakSet<object>();

/**
 * The options that a program gave, with defaults. Undefined is always the default.
 *
 * @throws LecternError `option-invalid` for a name that does not exist, a value that cannot be, or options that contradict
 *   each other
 */
export function resolveOptions<P extends Place>(place: P, options: unknown): Resolved<P> {
  const { method, prefix } = TAKERS[place];
  const settings = settingsOf(place);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const example = place === 'openTimetable' ? ", such as { source: 'events.ndjson' }" : '';
    throw invalid(`${method} takes an object of options${example}: ${[...settings.keys()].join(', ')}`);
  }
  if (checked.has(options)) return options as Resolved<P>;
  const names = [...settings.keys()];
  for (const name of Object.keys(options)) if (!settings.has(name)) throw unknownOption(method, name, names);
  const values = withDefaults(settings, options);
  for (const [name, setting] of settings) checkValue(setting, values[name], prefix + name);
  const rules = RULES.filter(
    (rule) => rule.isOfCommand !== true && rule.names.every((name) => settings.has(name)),
  );
  checkRules(rules, values, options, (name) => prefix + name);
  return values as Resolved<P>;
}

/**
 * The settings of the command line, each a good value by itself, with defaults.
 *
 * @throws LecternError `option-invalid` for the first value that is wrong; the value of a secret is never repeated
 */
export function checkSettings(options: ServiceOptions): ResolvedSettings {
  if (checked.has(options)) return options as ResolvedSettings;
  const values = withDefaults(new Map(SETTINGS.map((setting) => [setting.name, setting])), options);
  for (const setting of SETTINGS) checkValue(setting, values[setting.name]);
  checked.add(values);
  return values as unknown as ResolvedSettings;
}

/**
 * The same, and good beside each other. No file is opened here.
 *
 * @throws LecternError `option-invalid` with all rules that are broken
 */
export function resolveSettings(options: ServiceOptions): ResolvedSettings {
  const settings = checkSettings(options);
  checkRules(RULES, settings as unknown as Values, settings, (name) => {
    const setting = SETTINGS.find((each) => each.name === name) as Setting;
    const { flag, isEnvironmentOnly } = setting;
    return flag === null || isEnvironmentOnly === true ? labelOf(setting) : flag;
  });
  return settings;
}

/**
 * @param label the setting as the person knows it who gave it
 * @throws LecternError `option-invalid`; it repeats the value, unless that may be a secret
 */
export function checkValue(setting: Setting, value: unknown, label: string = labelOf(setting)): void {
  const fault = value === undefined ? null : setting.kind.fault(value);
  if (fault === null) return;
  throw invalid(
    setting.isSecret === true || value === null || typeof value === 'object'
      ? `${label} is invalid: ${fault}`
      : `${label} is ${typeof value === 'string' ? JSON.stringify(value) : String(value)}: ${fault}`,
  );
}

/** Checked settings as the options of one place, and what else the place takes. They are not checked again. */
export function optionsOf<P extends Place>(
  place: P,
  settings: ResolvedSettings,
  more: Partial<Resolved<P>> = {},
): Resolved<P> {
  const options: Record<string, unknown> = {};
  for (const [name, setting] of settingsOf(place)) {
    const value = (settings as unknown as Values)[setting.name];
    if (value !== undefined) options[name] = value;
  }
  Object.assign(options, more);
  checked.add(options);
  return options as Resolved<P>;
}

function withDefaults(settings: ReadonlyMap<string, Setting>, given: object): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of settings) {
    const value = (given as Values)[name];
    const filled = value === undefined ? setting.default : value;
    if (filled !== undefined) values[name] = filled;
  }
  return values;
}

function checkRules(
  rules: readonly Rule[],
  values: Values,
  given: object,
  label: (name: string) => string,
): void {
  const defaults = new Map(SETTINGS.map((setting) => [setting.name, setting.default]));
  // A setting that is given its own default says nothing.
  const isGiven = (name: string): boolean => {
    const value = (given as Values)[name];
    return value !== undefined && value !== defaults.get(name);
  };
  const broken = rules.filter(({ isBroken }) => isBroken(values, isGiven));
  if (broken.length > 0) throw invalid(broken.map(({ problem }) => problem(label)).join('; '));
}

/** A mistyped `auth` or `issuer` must not pass for one that was left out: every request would be let in. */
function unknownOption(method: string, name: string, names: readonly string[]): LecternError {
  const near = suggest(name, names);
  const hint = near === null ? `its options are ${names.join(', ')}` : `did you mean ${near}?`;
  return invalid(`${method} has no option ${JSON.stringify(name)}: ${hint}`);
}

function invalid(message: string): LecternError {
  return new LecternError('option-invalid', message);
}
