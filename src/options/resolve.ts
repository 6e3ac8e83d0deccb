/** Checks values of settings, and what their entries need and exclude. Refuses settings without effect. */
import { type LecternError, optionInvalid } from '../base/errors.js';
import { suggest } from '../base/model/suggest.js';
import type { Condition, Faults, Values } from './conditions.js';
import { anyOf, isObject } from './kinds.js';
import type {
  PublisherSettings,
  ReadingSettings,
  Resolved,
  ResolvedSettings,
  ServiceOptions,
} from './option-types.js';
import { type CommandName, type Place, type Setting, variableOf } from './setting.js';
import { COMMAND_READING_SETTINGS, settingsOf, settingsOfCommand } from './table.js';

type Settings = ReadonlyMap<string, Setting>;

/** Objects of options that were already checked here, so that no value is checked twice. */
const checked = new WeakSet<object>();

/** How messages name the options of each place: its method, and a prefix. */
const TAKERS: Readonly<Record<Place, { readonly method: string; readonly prefix: string }>> = {
  openTimetable: { method: 'openTimetable()', prefix: '' },
  gate: { method: 'openTimetable({ gate })', prefix: 'gate.' },
  serve: { method: 'serve()', prefix: '' },
  handler: { method: 'handler()', prefix: '' },
  publish: { method: 'publishTimetable()', prefix: '' },
  auth: { method: 'auth', prefix: 'auth.' },
  feed: { method: 'feed', prefix: 'feed.' },
  admin: { method: 'serve({ admin })', prefix: 'admin.' },
};

/** The argument of commands that read a source. */
const SOURCE = settingsOfCommand('serve').get('source') as Setting;

/** A setting's name within the text of a rule. */
const NAMED = /\{(\w+)\}/g;

/** Checks the options of a program and fills in defaults. Throws LecternError `option-invalid`. */
export function resolveOptions<P extends Place>(place: P, options: unknown): Resolved<P> {
  const { method, prefix } = TAKERS[place];
  const settings = settingsOf(place);
  const names = [...settings.keys()];
  if (!isObject(options)) {
    const example = place === 'openTimetable' ? ", such as { source: 'events.ndjson' }" : '';
    throw optionInvalid(`${method} takes an object of options${example}: ${names.join(', ')}`);
  }
  if (checked.has(options)) return options as Resolved<P>;
  const unknown = Object.keys(options).find((name) => !settings.has(name));
  if (unknown !== undefined) throw unknownOption(method, unknown, names);
  const labelOf = (name: string): string => prefix + name;
  const values = checkedValues(settings, options as Values, labelOf);
  checkTogether(settings, values, labelOf);
  checked.add(values);
  return values as Resolved<P>;
}

/**
 * Checks the settings of `lectern serve` and fills in defaults. Throws `option-invalid` for the first bad value, then for
 * all broken rules between settings. Opens no file.
 */
export function resolveSettings(options: ServiceOptions): ResolvedSettings {
  if (checked.has(options)) return options as ResolvedSettings;
  const values = resolveCommand('serve', options as unknown as Values);
  checked.add(values);
  return values as unknown as ResolvedSettings;
}

/**
 * One sentence for each combination of settings that `lectern serve` accepts, but that is probably a mistake.
 */
export function warningsOf(settings: ResolvedSettings): readonly string[] {
  const all = settingsOfCommand('serve');
  const values = settings as unknown as Values;
  return [...all.values()].flatMap(({ warnings }) => messagesOf(warnings, all, values));
}

/** Checks the settings of `lectern publish` like {@link resolveSettings}. */
export function resolvePublisher(given: Values): PublisherSettings {
  return resolveCommand('publish', given) as unknown as PublisherSettings;
}

function resolveCommand(command: CommandName, given: Values): Values {
  const settings = settingsOfCommand(command);
  const values = checkedValues(settings, given);
  checkTogether(settings, values);
  return values;
}

/** Checks the settings of commands that read a source, and the rules between them. Throws LecternError `option-invalid`. */
export function resolveReading(given: Values): ReadingSettings {
  const settings = new Map([SOURCE, ...COMMAND_READING_SETTINGS].map((setting) => [setting.name, setting]));
  const values = checkedValues(settings, given);
  checkTogether(settings, values);
  return values as ReadingSettings;
}

/** Throws LecternError `option-invalid`. The message repeats the value, unless it may be a secret. */
export function checkValue(setting: Setting, value: unknown, label: string = labelOf(setting)): void {
  const fault = value === undefined ? null : setting.kind.fault(value);
  if (fault === null) return;
  throw optionInvalid(
    setting.isSecret === true || value === null || typeof value === 'object'
      ? `${label} is invalid: ${fault}`
      : `${label} is ${typeof value === 'string' ? JSON.stringify(value) : String(value)}: ${fault}`,
  );
}

/** A good value of a setting, or the default. */
export function valueOrDefault<T>(name: string, value: unknown, usual: T): T {
  const setting = settingsOfCommand('serve').get(name);
  return value === undefined || setting?.kind.fault(value) !== null ? usual : (value as T);
}

/** Collects the options of one place from the settings, and adds other options. */
export function optionsOf<P extends Place>(
  place: P,
  settings: ResolvedSettings | PublisherSettings,
  more: Partial<Resolved<P>> = {},
): Resolved<P> {
  const values = settings as unknown as Values;
  const given = [...settingsOf(place)].map(([name, setting]) => [name, values[setting.name]]);
  const options = { ...Object.fromEntries(given), ...more };
  checked.add(options);
  return options;
}

function checkedValues(settings: Settings, given: Values, label?: (name: string) => string): Values {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of settings) {
    const value = given[name] === undefined ? setting.default : given[name];
    if (value === undefined) {
      if (setting.isRequired === true) throw optionInvalid(`${label?.(name) ?? labelOf(setting)} is missing`);
      continue;
    }
    checkValue(setting, value, label?.(name));
    values[name] = value;
  }
  return values;
}

type LabelOf = (name: string) => string;

/** Throws one error with all faults that the entries find in the values together. */
function checkTogether(settings: Settings, values: Values, label?: LabelOf): void {
  const isCommand = label === undefined;
  const found: string[] = [];
  for (const [name, setting] of settings) {
    found.push(...messagesOf(setting.faults, settings, values, label));
    if (isCommand) found.push(...messagesOf(setting.commandFaults, settings, values));
    // A setting at its default needs nothing.
    if (values[name] === undefined || values[name] === setting.default) continue;
    const vain = (conditions: Setting['needs'] = [], isNeed: boolean): readonly string[] =>
      conditions.flatMap((each) => vainWords(each, isNeed, { settings, values, isCommand }));
    const reasons = [...vain(setting.needs, true), ...vain(setting.excludes, false)];
    found.push(...reasons.map((words) => named(`{${name}} has no effect${words}`, settings, label)));
  }
  if (found.length > 0) throw optionInvalid(found.join('; '));
}

interface Around {
  readonly settings: Settings;
  readonly values: Values;
  readonly isCommand: boolean;
}

/** Why a condition makes a setting vain: the words after "has no effect"; none if it does not. */
function vainWords(
  condition: string | Condition,
  isNeed: boolean,
  { settings, values, isCommand }: Around,
): readonly string[] {
  const { given, holds, words, isOfCommand }: Condition =
    typeof condition === 'string' ? { given: [condition], words: '' } : condition;
  if (isOfCommand === true && !isCommand) return [];
  if (given === undefined) {
    if (holds?.(values) === isNeed) return [];
    return [isNeed ? `, as ${words}` : ` with ${words}`];
  }
  const names = given.filter(
    (name) => settings.has(name) && !(isCommand && settings.get(name)?.flag === null),
  );
  const isGiven = (name: string): boolean =>
    values[name] !== undefined && values[name] !== settings.get(name)?.default;
  if (names.length === 0 || names.some(isGiven) === isNeed) return [];
  return [` ${isNeed ? 'without' : 'with'} ${anyOf(names.map((name) => `{${name}}`))}${words}`];
}

function messagesOf(
  faults: Faults | undefined,
  settings: Settings,
  values: Values,
  label?: LabelOf,
): readonly string[] {
  return Object.entries(faults ?? {})
    .filter(([problem]) => [...problem.matchAll(NAMED)].every(([, name = '']) => settings.has(name)))
    .filter(([, isSo]) => isSo(values))
    .map(([problem]) => named(problem, settings, label));
}

function named(
  problem: string,
  settings: Settings,
  label: LabelOf = (name) => shortLabelOf(settings.get(name) as Setting),
): string {
  return problem.replace(NAMED, (_, name) => label(name));
}

/** `--port (LECTERN_PORT)`, or the only name if the setting has one name. */
function labelOf(setting: Setting): string {
  const label = shortLabelOf(setting);
  const variable = variableOf(setting);
  return label === setting.flag && variable !== undefined ? `${label} (${variable})` : label;
}

function shortLabelOf(setting: Setting): string {
  const { name, flag, isEnvironmentOnly } = setting;
  return (isEnvironmentOnly === true ? variableOf(setting) : flag) ?? name;
}

/** The fault of an unknown option. Ignoring a misspelt `auth` or `issuer` would accept every request. */
function unknownOption(method: string, name: string, names: readonly string[]): LecternError {
  const near = suggest(name, names);
  const hint = near === null ? `its options are ${names.join(', ')}` : `did you mean ${near}?`;
  return optionInvalid(`${method} has no option ${JSON.stringify(name)}: ${hint}`);
}
