/** A setting is named in few files between its entry in the table and its use. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { SETTINGS } from '../../src/options/table.js';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

/** With the entry in the table, a walk has at most 4 files. */
const FILES_MAX = 3;

/** Words that mean only the setting. Other single words, such as `source` or `mode`, have further meanings. */
const SINGLE_WORDS = ['compression'];

/** Settings that are named in more files: how many at most, and why. */
const LONGER: Readonly<Record<string, readonly [files: number, reason: string]>> = {
  basePath: [10, 'each of them makes, serves or describes paths below it'],
  timeZone: [22, 'records, calendars and queries have local times; it is also a parameter of queries'],
  fieldMap: [12, 'each form of records finds its columns with it'],
  dateOrder: [9, 'dates are read with it, and lectern inspect proposes and writes it'],
  refreshSeconds: [5, 'a source of a timetable file has its own, beside that of the timetable'],
  onProgress: [18, 'every part of a load calls it, and commands show its reports'],
};

const COMMENTS_AND_PATHS = /(?:^|\s)(?:\/\/.*|\/\*[\s\S]*?\*\/)|\bfrom '[^']*'/gm;

function filesByWord(): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string[]>();
  for (const file of readdirSync(SRC, { encoding: 'utf8', recursive: true })) {
    if (!file.endsWith('.ts') || file.startsWith('options') || file === 'client/api.ts') continue;
    const code = readFileSync(`${SRC}/${file}`, 'utf8').replaceAll(COMMENTS_AND_PATHS, '');
    for (const word of new Set(code.match(/\w+/g))) files.set(word, [...(files.get(word) ?? []), file]);
  }
  return files;
}

test('a setting is named in its entry and in at most three other files', async (t) => {
  const files = filesByWord();
  const names = SETTINGS.map(({ name }) => name).filter(
    (name) => /[A-Z]/.test(name) || SINGLE_WORDS.includes(name),
  );
  t.ok(names.length > 30, `${names.length} settings`);
  t.same(
    Object.keys(LONGER).filter((name) => !names.includes(name)),
    [],
  );
  for (const name of names) {
    const found = files.get(name) ?? [];
    const list = `${name}: ${found.join(', ')}`;
    const [longer] = LONGER[name] ?? [];
    t.ok(found.length <= (longer ?? FILES_MAX), list);
  }
});
