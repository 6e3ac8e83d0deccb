/** A real spreadsheet program opens Lectern's CSV and saves it again, and saves tables as people do. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import type { TimetableRecord } from '../../src/base/model/event.js';
import { MemorySource, openTimetable, type Timetable } from '../../src/index.js';

const IS_MISSING = spawnSync('soffice', ['--version']).status !== 0;
const skip = IS_MISSING && 'LibreOffice is not installed (apt-get install libreoffice-calc)';
const OPTIONS = { timeout: 300_000, skip };

/** Comma, quotes, UTF-8, from the first line, with the ten columns as text. */
const AS_TEXT = `CSV:44,34,76,1,${Array.from({ length: 10 }, (_, n) => `${n + 1}/2`).join('/')}`;
/** Comma or semicolon, quotes, an encoding, and cells in their displayed form. */
const saved = (delimiter: ',' | ';', encoding: 'UTF-8' | 'windows-1252'): string =>
  `csv:Text - txt - csv (StarCalc):${delimiter.charCodeAt(0)},34,${encoding === 'UTF-8' ? 76 : 1},1,,0,false,true,false`;

const TEXTS = [
  '=1+1',
  '007',
  '1e5',
  '1/2',
  '  spaces  ',
  'two\nlines',
  'Müller, "Jörg"',
  '🎓;',
  '+49',
  '@a',
  "'x",
];

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-spreadsheet-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** @returns the path of the new file, in the folder `out` */
function convert(t: Test, folder: string, name: string, to: string, filter: readonly string[] = []): string {
  const out = join(folder, 'out');
  mkdirSync(out, { recursive: true });
  const profile = `-env:UserInstallation=file://${folder}/profile`;
  const argv = ['--headless', profile, ...filter, '--convert-to', to, '--outdir', out, join(folder, name)];
  const { status, stderr } = spawnSync('soffice', argv, { encoding: 'utf8' });
  t.equal(status, 0, stderr);
  return join(out, `${name.replace(/\.\w+$/, '')}.${to.split(':')[0]}`);
}

async function opened(t: Test, options: Parameters<typeof openTimetable>[0]): Promise<Timetable> {
  const timetable = openTimetable(options);
  t.teardown(() => timetable.close());
  await timetable.ready;
  return timetable;
}

function csvOf({ view }: Timetable): Uint8Array {
  const result = view?.all([], { unknownParameters: 'reject' });
  if (result === undefined || !('read' in result)) throw new Error('there is a list');
  return Buffer.concat([...result.read.execute('csv').body.makeChunks()]);
}

test('CSV that a spreadsheet program opened and saved is the same timetable', OPTIONS, async (t) => {
  const generated = [...generateEvents({ events: 300, seed: 7 })] as TimetableRecord[];
  const records = generated.map((record, n) => ({ ...record, title: TEXTS[n % TEXTS.length] as string }));
  const before = await opened(t, { source: new MemorySource(records) });
  const folder = folderOf(t);
  writeFileSync(join(folder, 'list.csv'), csvOf(before));
  const sheet = convert(t, folder, 'list.csv', 'ods', [`--infilter=${AS_TEXT}`]);
  const again = convert(t, join(sheet, '..'), 'list.ods', saved(',', 'UTF-8'));
  const after = await opened(t, { source: again });
  t.equal(after.summary?.rejected, 0);
  t.strictSame(after.find({}).events, before.find({}).events);
});

test(
  'a German table saved by an American spreadsheet program is read with a field map',
  OPTIONS,
  async (t) => {
    const rows = [
      'Datum,Von,Bis,Fach,Raum',
      '31.08.2026,8:00,9:30,Übung,A 101',
      '1.9.2026,13:15,14:45,Größen,B',
    ];
    const folder = folderOf(t);
    writeFileSync(join(folder, 'plan.csv'), rows.join('\n'));
    // The cells are dates and times of day. Without a locale they are saved as 08/31/2026 and 08:00:00 AM.
    convert(t, folder, 'plan.csv', 'ods', ['--infilter=CSV:44,34,76,1,,1031']);
    const fields = { time: '{Datum} {Von}', endTime: '{Datum} {Bis}', title: 'Fach', roomId: 'Raum' };
    for (const encoding of ['UTF-8', 'windows-1252'] as const) {
      const from = convert(t, join(folder, 'out'), 'plan.ods', saved(';', encoding));
      const sources = [{ from, fields, encoding, identifiers: 'derived', dateOrder: 'mdy' } as const];
      const timetable = await opened(t, { timetable: { timeZone: 'Europe/Berlin', sources } });
      t.match(timetable.find({}).events, [
        { time: '2026-08-31T06:00:00.000Z', endTime: '2026-08-31T07:30:00.000Z', title: 'Übung' },
        { time: '2026-09-01T11:15:00.000Z', endTime: '2026-09-01T12:45:00.000Z', title: 'Größen' },
      ]);
    }
  },
);
