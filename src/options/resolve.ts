/** From what was given to values that hold: checked by the table and its rules, with defaults filled in. */
import { LecternError } from '../errors.js';
import { suggest } from '../structures/suggest.js';
import type { Resolved, ResolvedSettings, ServiceOptions } from './option-types.js';
import { COMMAND_RULES, RULES, type Rules, type Values } from './rules.js';
import { isObject, type Place, type Setting, variableOf } from './setting.js';
import { SETTINGS, settingsOf } from './table.js';

type Settings = ReadonlyMap<string, Setting>;

/** What messages call the options of each place: the method that takes them, and a prefix of their names. */
const TAKERS: Readonly<Record<Place, { readonly method: string; readonly prefix: string }>> = {
  openTimetable: { method: 'openTimetable()', prefix: '' },
  gate: { method: 'openTimetable({ gate })', prefix: 'gate.' },
  serve: { method: 'serve()', prefix: '' },
  handler: { method: 'handler()', prefix: '' },
  auth: { method: 'auth', prefix: 'auth.' },
  admin: { method: 'serve({ admin })', prefix: 'admin.' },
};

/** A setting in the problem of a rule. */
const NAMED = /\{(\w+)\}/g;

/**
 * The options that a program gave, with defaults. Undefined is always the default.
 *
 * @throws LecternError `option-invalid` for an unknown name, a bad value, or options that contradict each other
 */
export function resolveOptions<P extends Place>(place: P, options: unknown): Resolved<P> {
  const { method, prefix } = TAKERS[place];
  const settings = settingsOf(place);
  const names = [...settings.keys()];
  if (!isObject(options)) {
    const example = place === 'openTimetable' ? ", such as { source: 'events.ndjson' }" : '';
    throw invalid(`${method} takes an object of options${example}: ${names.join(', ')}`);
  }
  const unknown = Object.keys(options).find((name) => !settings.has(name));
  if (unknown !== undefined) throw unknownOption(method, unknown, names);
  const labelOf = (name: string): string => prefix + name;
  const values = checkedValues(settings, options as Values, labelOf);
  checkRules(RULES, settings, values, labelOf);
  return values as Resolved<P>;
}

/**
 * The settings of the command line, each a good value by itself, with defaults.
 *
 * @throws LecternError `option-invalid` for the first value that is wrong
 */
export function checkSettings(options: ServiceOptions): ResolvedSettings {
  return checkedValues(allSettings(), options as unknown as Values) as ResolvedSettings;
}

/**
 * The same, and good beside each other. No file is opened here.
 *
 * @throws LecternError `option-invalid` with all rules that are broken
 */
export function resolveSettings(options: ServiceOptions): ResolvedSettings {
  const values = checkSettings(options);
  const settings = allSettings();
  checkRules({ ...RULES, ...COMMAND_RULES }, settings, values, (name) =>
    shortLabelOf(settings.get(name) as Setting),
  );
  return values;
}

/** @throws LecternError `option-invalid`; it repeats the value, unless that may be a secret */
export function checkValue(setting: Setting, value: unknown, label: string = labelOf(setting)): void {
  const fault = value === undefined ? null : setting.kind.fault(value);
  if (fault === null) return;
  throw invalid(
    setting.isSecret === true || value === null || typeof value === 'object'
      ? `${label} is invalid: ${fault}`
      : `${label} is ${typeof value === 'string' ? JSON.stringify(value) : String(value)}: ${fault}`,
  );
}

/** The settings of one place as its options, and what else the place takes. */
export function optionsOf<P extends Place>(
  place: P,
  settings: ResolvedSettings,
  more: Partial<Resolved<P>> = {},
): Resolved<P> {
  const values = settings as Values;
  const options = [...settingsOf(place)].map(([name, setting]) => [name, values[setting.name]]);
  return { ...Object.fromEntries(options), ...more };
}

function allSettings(): Settings {
  return new Map(SETTINGS.map((setting) => [setting.name, setting]));
}

function checkedValues(settings: Settings, given: Values, label?: (name: string) => string): Values {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of settings) {
    const value = given[name] === undefined ? setting.default : given[name];
    if (value === undefined) continue;
    checkValue(setting, value, label?.(name));
    values[name] = value;
  }
  return values;
}

function checkRules(rules: Rules, settings: Settings, values: Values, label: (name: string) => string): void {
  // A setting that is given its own default says nothing.
  const isGiven = (name: string): boolean =>
    values[name] !== undefined && values[name] !== settings.get(name)?.default;
  const broken = Object.entries(rules)
    .filter(([problem]) => [...problem.matchAll(NAMED)].every(([, name = '']) => settings.has(name)))
    .flatMap(([problem, isBroken]) => (isBroken(values, isGiven) ? [problem] : []));
  if (broken.length === 0) return;
  throw invalid(broken.map((problem) => problem.replace(NAMED, (_, name) => label(name))).join('; '));
}

/** `--port (LECTERN_PORT)`, or the one name that a setting has. */
function labelOf(setting: Setting): string {
  const label = shortLabelOf(setting);
  return label === setting.flag ? `${label} (${variableOf(setting)})` : label;
}

function shortLabelOf(setting: Setting): string {
  const { name, flag, isEnvironmentOnly } = setting;
  return (isEnvironmentOnly === true ? variableOf(setting) : flag) ?? name;
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
