/**
 * Folder options/. The one table of settings, with the range of their values. This folder serves
 * nothing, and opens no file except a field map.
 */
import { DATA_SETTINGS, PUBLISHING_SETTINGS, REFRESHING_SETTINGS } from './data-settings.js';
import { FEED_SETTINGS } from './feed-settings.js';
import {
  ADDRESS_SETTINGS,
  DATABASE_REFRESHING_SETTINGS,
  DATABASE_SETTINGS,
  READING_SETTINGS,
} from './reading-settings.js';
import { LISTENING_SETTINGS, OPERATING_SETTINGS } from './serving-settings.js';
import type { CommandName, Place, Setting } from './setting.js';
import { TOKEN_SETTINGS } from './token-settings.js';

/** Sorted in the order of `--help`. */
export const SETTINGS: readonly Setting[] = [
  ...LISTENING_SETTINGS,
  ...DATA_SETTINGS,
  ...ADDRESS_SETTINGS,
  ...READING_SETTINGS,
  ...DATABASE_SETTINGS,
  ...DATABASE_REFRESHING_SETTINGS,
  ...REFRESHING_SETTINGS,
  ...PUBLISHING_SETTINGS,
  ...TOKEN_SETTINGS,
  ...FEED_SETTINGS,
  ...OPERATING_SETTINGS,
];

/** The settings of one place, by their option names. */
export function settingsOf(place: Place): ReadonlyMap<string, Setting> {
  const settings = SETTINGS.filter(({ places }) => places.includes(place));
  return new Map(settings.map((setting) => [setting.option ?? setting.name, setting]));
}

export const COMMANDS: readonly CommandName[] = ['serve', 'publish'];

/** The settings of a command, by their names. Settings of programs are included. */
export function settingsOfCommand(command: CommandName): ReadonlyMap<string, Setting> {
  const settings = SETTINGS.filter(({ flag, commands }) => flag === null || commands.includes(command));
  return new Map(settings.map((setting) => [setting.name, setting]));
}
