import { LecternError } from '../errors.js';
import { suggest } from '../model/suggest.js';
import type { ReadingSettings, Resolved, ResolvedSettings, ServiceOptions } from './option-types.js';
import { COMMAND_READING_SETTINGS } from './reading-settings.js';
import { COMMAND_RULES, RULES, type Rules, type Values } from './rules.js';
import { isObject, type Place, type Setting, variableOf } from './setting.js';
import { SETTINGS, settingsOf } from './table.js';

type Settings = ReadonlyMap<string, Setting>;

/** Objects of options whose values were already checked here, so that none is checked twice. */
const checked = new WeakSet<object>();

/** How messages name the options of each place: its method, and a prefix. */
const TAKERS: Readonly<Record<Place, { readonly method: string; readonly prefix: string }>> = {
  openTimetable: { method: 'openTimetable()', prefix: '' },
  gate: { method: 'openTimetable({ gate })', prefix: 'gate.' },
  serve: { method: 'serve()', prefix: '' },
  handler: { method: 'handler()', prefix: '' },
  auth: { method: 'auth', prefix: 'auth.' },
  feed: { method: 'feed', prefix: 'feed.' },
  admin: { method: 'serve({ admin })', prefix: 'admin.' },
};

/** A setting's name within the text of a rule. */
const NAMED = /\{(\w+)\}/g;

/** Checks the options of a program and fills in defaults. Throws LecternError `option-invalid`. */
export function resolveOptions<P extends Place>(place: P, options: unknown): Resolved<P> {
  const { method, prefix } = TAKERS[place];
  const settings = settingsOf(place);
  const names = [...settings.keys()];
  if (!isObject(options)) {
    const example = place === 'openTimetable' ? ", such as { source: 'events.ndjson' }" : '';
    throw invalid(`${method} takes an object of options${example}: ${names.join(', ')}`);
  }
  if (checked.has(options)) return options as Resolved<P>;
  const unknown = Object.keys(options).find((name) => !settings.has(name));
  if (unknown !== undefined) throw unknownOption(method, unknown, names);
  const labelOf = (name: string): string => prefix + name;
  const values = checkedValues(settings, options as Values, labelOf);
  checkRules(RULES, settings, values, labelOf);
  return values as Resolved<P>;
}

/** Checks each setting of the command line separately and fills in defaults. Throws `option-invalid` for the first fault. */
export function checkSettings(options: ServiceOptions): ResolvedSettings {
  if (checked.has(options)) return options as ResolvedSettings;
  const values = checkedValues(allSettings(), options as unknown as Values);
  checked.add(values);
  return values as ResolvedSettings;
}

/** Also checks the rules between settings. Throws `option-invalid` with every broken rule. Opens no file. */
export function resolveSettings(options: ServiceOptions): ResolvedSettings {
  const values = checkSettings(options);
  const settings = allSettings();
  checkRules({ ...RULES, ...COMMAND_RULES }, settings, values, (name) =>
    shortLabelOf(settings.get(name) as Setting),
  );
  return values;
}

/** Checks the settings of commands that read a source, and the rules between them. Throws LecternError `option-invalid`. */
export function resolveReading(given: Values): ReadingSettings {
  const settings = new Map(COMMAND_READING_SETTINGS.map((setting) => [setting.name, setting]));
  const values = checkedValues(settings, given);
  checkRules(RULES, settings, values, (name) => shortLabelOf(settings.get(name) as Setting));
  return values as ReadingSettings;
}

/** Throws LecternError `option-invalid`. The message repeats the value, unless it may be a secret. */
export function checkValue(setting: Setting, value: unknown, label: string = labelOf(setting)): void {
  const fault = value === undefined ? null : setting.kind.fault(value);
  if (fault === null) return;
  throw invalid(
    setting.isSecret === true || value === null || typeof value === 'object'
      ? `${label} is invalid: ${fault}`
      : `${label} is ${typeof value === 'string' ? JSON.stringify(value) : String(value)}: ${fault}`,
  );
}

/** Collects the options of one place from the settings, and adds others. */
export function optionsOf<P extends Place>(
  place: P,
  settings: ResolvedSettings,
  more: Partial<Resolved<P>> = {},
): Resolved<P> {
  const values = settings as Values;
  const given = [...settingsOf(place)].map(([name, setting]) => [name, values[setting.name]]);
  const options = { ...Object.fromEntries(given), ...more };
  checked.add(options);
  return options;
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
  // Rules ignore settings at their default.
  const isGiven = (name: string): boolean =>
    values[name] !== undefined && values[name] !== settings.get(name)?.default;
  const broken = Object.entries(rules)
    .filter(([problem]) => [...problem.matchAll(NAMED)].every(([, name = '']) => settings.has(name)))
    .flatMap(([problem, isBroken]) => (isBroken(values, isGiven) ? [problem] : []));
  if (broken.length === 0) return;
  throw invalid(broken.map((problem) => problem.replace(NAMED, (_, name) => label(name))).join('; '));
}

/** `--port (LECTERN_PORT)`, or the only name of the setting. */
function labelOf(setting: Setting): string {
  const label = shortLabelOf(setting);
  return label === setting.flag ? `${label} (${variableOf(setting)})` : label;
}

function shortLabelOf(setting: Setting): string {
  const { name, flag, isEnvironmentOnly } = setting;
  return (isEnvironmentOnly === true ? variableOf(setting) : flag) ?? name;
}

/** A misspelt `auth` or `issuer` must not be ignored, because every request would be accepted. */
function unknownOption(method: string, name: string, names: readonly string[]): LecternError {
  const near = suggest(name, names);
  const hint = near === null ? `its options are ${names.join(', ')}` : `did you mean ${near}?`;
  return invalid(`${method} has no option ${JSON.stringify(name)}: ${hint}`);
}

function invalid(message: string): LecternError {
  return new LecternError('option-invalid', message);
}
