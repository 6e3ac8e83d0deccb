import { Option } from 'commander';
import { type Setting, shownDefault, variableOf } from '../options/setting.js';

export function hasFlag({ flag, isEnvironmentOnly }: Setting): boolean {
  return flag !== null && isEnvironmentOnly !== true;
}

export function toOption(setting: Setting): Option {
  const { short, flag, help, group, kind, isSwitch, isRequired, default: usual } = setting;
  if (isSwitch === true) return toSwitch(setting);
  const option = new Option(`${short === undefined ? '' : `${short}, `}${flag} <${kind.unit}>`, help)
    .env(variableOf(setting) as string)
    .helpGroup(`${group}:`)
    // All values are checked together, later.
    .argParser((text: string, previous: unknown) => kind.parse?.(text, previous) ?? text);
  if (kind.choices !== undefined) option.argChoices = [...kind.choices];
  if (usual !== undefined) option.default(usual, shownDefault(setting));
  if (isRequired === true) option.makeOptionMandatory();
  return option;
}

/** Commander would take any text in the variable as "on", so `valuesOf` reads the variable. */
function toSwitch(setting: Setting): Option {
  const { flag, help, group } = setting;
  const variable = variableOf(setting);
  return new Option(
    flag as string,
    variable === undefined ? help : `${help} (env: ${variable}, on or off)`,
  ).helpGroup(`${group}:`);
}

/** Commander names values after flags; this function names them after settings. */
export function valuesOf(
  settings: readonly Setting[],
  parsed: Record<string, unknown>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const setting of settings) {
    const { name, flag, isSwitch, kind } = setting;
    if (flag === null) continue;
    const given = hasFlag(setting) ? parsed[new Option(flag).attributeName()] : undefined;
    const isOfCommander = hasFlag(setting) && isSwitch !== true;
    const text = isOfCommander ? undefined : process.env[variableOf(setting) ?? ''];
    values[name] = given ?? (text === undefined ? undefined : (kind.parse?.(text, undefined) ?? text));
  }
  return values;
}
