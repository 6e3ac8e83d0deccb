import { Option } from 'commander';
import { type Setting, shownDefault, variableOf } from '../options/setting.js';

export function hasFlag({ flag, isEnvironmentOnly }: Setting): boolean {
  return flag !== null && isEnvironmentOnly !== true;
}

export function toOption(setting: Setting): Option {
  const { short, flag, help, group, kind, preset, default: usual } = setting;
  const value = preset === undefined ? `<${kind.unit}>` : `[${kind.unit}]`;
  const option = new Option(`${short === undefined ? '' : `${short}, `}${flag} ${value}`, help)
    .env(variableOf(setting) as string)
    .helpGroup(`${group}:`)
    // All values are checked together, later.
    .argParser((text: string, previous: unknown) => kind.parse?.(text, previous) ?? text);
  if (kind.choices !== undefined) option.argChoices = [...kind.choices];
  if (preset !== undefined) option.preset(preset);
  if (usual !== undefined) option.default(usual, shownDefault(setting));
  return option;
}

/** Commander names values after flags. Settings have names that commander does not know. */
export function valuesOf(
  settings: readonly Setting[],
  parsed: Record<string, unknown>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const setting of settings) {
    const { name, flag } = setting;
    if (flag === null) continue;
    values[name] = hasFlag(setting)
      ? parsed[new Option(flag).attributeName()]
      : process.env[variableOf(setting) as string];
  }
  return values;
}
