/** The settings of reading, in each command that reads a source. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { runHere } from './run-here.js';

const folder = mkdtempSync(join(tmpdir(), 'lectern-reading-'));
process.once('exit', () => rmSync(folder, { recursive: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const ROWS = file('rows.json', [
  { Fach: 'Algebra', Datum: '31.08.2024', Von: '8:00', Bis: '9:30', Raum: { Name: 'A 101' }, Etage: 1 },
  { Fach: 'Nachtschicht', Datum: '27.10.2024', Von: '2:30', Bis: '9:30', Raum: { Name: 'B 2' }, Etage: 2 },
  { Fach: 'Algebra', Datum: '31.02.2024', Von: '8:00', Bis: '24:30', Raum: { Name: 'A 101' }, Etage: 1 },
]);
const MAP = [
  '--map',
  'title=Fach',
  '--map',
  'time={Datum} {Von}',
  '--map',
  'endTime={Datum} {Bis}',
  '--map',
  'roomId=Raum.Name',
];
const RULES = ['--date-order', 'dmy', '--time-zone', 'Europe/Berlin', '--identifiers', 'derived'];

test('inspect reads columns, dates and zones, and lists all faults and unserved fields', async (t) => {
  const { code, stdout } = await runHere(t, ['inspect', ROWS, ...MAP, ...RULES]);
  t.equal(code, 0);
  t.match(stdout, /^events +2$/m);
  t.match(stdout, /^span +2024-08-31T06:00:00\.000Z to 2024-10-27T08:30:00\.000Z$/m);
  t.match(stdout, /^ {2}"Etage" in 3 records/m);
  t.notMatch(stdout, '"Fach" in');
  t.match(stdout, '1 time that clocks showed twice');
  t.match(
    stdout,
    /\(record 3\): time "31\.02\.2024 8:00" cannot be read: .*; endTime "31\.02\.2024 24:30" cannot be read: /,
  );
  const { stdout: json } = await runHere(t, ['inspect', ROWS, '--json', ...MAP, ...RULES]);
  t.match(JSON.parse(json).summary, {
    ambiguousTimes: { gaps: 0, overlaps: 1 },
    rejections: [{ field: 'time', more: [{ field: 'endTime', code: 'malformed-time' }] }],
  });
});

test('explain takes the same settings, and source texts for derived identifiers', async (t) => {
  const { code, stdout } = await runHere(t, ['explain', ROWS, 'roomId=A 101', ...MAP, ...RULES]);
  t.equal(code, 0);
  t.match(stdout, '1 event of 2');
});

test('variables are equivalent to flags, with one map entry a line', async (t) => {
  const env = {
    LECTERN_MAP: 'title=Fach\ntime={Datum} {Von}\nendTime={Datum} {Bis}\n',
    LECTERN_DATE_ORDER: 'dmy',
    LECTERN_TIME_ZONE: 'Europe/Berlin',
    LECTERN_IDENTIFIERS: 'derived',
  };
  t.match((await runHere(t, ['inspect', ROWS], env)).stdout, /^events +2$/m);
});

const WRONG: readonly [argv: readonly string[], message: RegExp][] = [
  [
    ['--map', 'titlle=Fach'],
    /^error: --map \(LECTERN_MAP\) is invalid: there is no field "titlle": did you mean title\?$/m,
  ],
  [
    ['--map', 'title', '--map', 'type=x'],
    /^error: --map \(LECTERN_MAP\) is "title": it must be field=column, such as/m,
  ],
  [
    ['--map', 'time=Datum', '--map', 'time=Von'],
    /^error: --map \(LECTERN_MAP\) is "time=Von": another entry has this field already; join columns with a template/m,
  ],
  [['--map', 'title={Fach'], /^error: --map .*"\{" has no partner: write \{column\}/m],
  [['--time-zone', 'Berlin'], /did you mean Europe\/Berlin\?$/m],
  [
    ['--date-order', 'dym'],
    /^error: --date-order \(LECTERN_DATE_ORDER\) is "dym": it must be ymd, dmy or mdy$/m,
  ],
  [
    ['--calendar-from', '2026-09-01', '--calendar-to', '2025-09-01'],
    /^error: --calendar-from must be before --calendar-to$/m,
  ],
];

for (const [argv, message] of WRONG) {
  for (const command of [
    ['inspect', ROWS],
    ['explain', ROWS, 'type=x'],
  ]) {
    test(`wrong usage gives one line: ${command[0]} ${argv.join(' ').replaceAll(folder, '')}`, async (t) => {
      const { code, stdout, stderr } = await runHere(t, [...command, ...argv]);
      t.ok(code === 1 || code === 2);
      t.equal(stdout, '');
      t.match(stderr, message);
    });
  }
}

const READING = [
  ...['--identifiers', '--map', '--date-order', '--time-zone', '--calendar-from', '--calendar-to'],
  ...['--header', '--table', '--query'],
];

test('every command that reads a source has all reading settings', async (t) => {
  for (const command of ['serve', 'inspect', 'explain', 'export']) {
    const { stdout } = await runHere(t, [command, '--help']);
    for (const flag of READING) t.match(stdout, `${flag} <`, `${command} ${flag}`);
  }
});

test('with --pin, reading settings except the time zone are refused', async (t) => {
  const { code, stderr } = await runHere(t, [
    'serve',
    '--pin',
    ROWS,
    '--dev',
    '--map',
    'title=x',
    '--calendar-from',
    '2026-01-01',
  ]);
  t.equal(code, 2);
  t.match(stderr, '--map has no effect with --pin');
  t.match(stderr, '--calendar-from has no effect with --pin');
});
