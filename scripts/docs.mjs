/**
 * Writes what is generated: docs/configuration.md and src/options/option-types.ts from the table of settings, the tables of
 * docs/timetable-file.md from the table of its entries, and docs/decisions/README.md from the titles of the decisions.
 *
 *     npm run docs
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as setting from '../src/options/setting.ts';
import * as table from '../src/options/table.ts';
import { rangeOf } from '../src/options/timetable-check.ts';
import { TIMETABLE } from '../src/options/timetable-table.ts';
import { decisionsPage } from './decisions.mjs';
import { configurationPage, optionTypes } from './settings-pages.mjs';
import { timetablePage, timetableTables } from './timetable-pages.mjs';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const write = (path, text) => writeFileSync(at(path), text);

write('docs/configuration.md', configurationPage({ ...table, ...setting }));
write('docs/decisions/README.md', decisionsPage());
write('src/options/option-types.ts', optionTypes({ ...table, TIMETABLE }));
write(
  'docs/timetable-file.md',
  timetablePage(readFileSync(at('docs/timetable-file.md'), 'utf8'), timetableTables(TIMETABLE, rangeOf)),
);
