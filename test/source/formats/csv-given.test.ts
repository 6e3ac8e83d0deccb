/** CSV whose delimiter and header the rules give, or that are guessed. */
import { test } from 'tap';
import { HEAD_BYTES } from '../../../src/base/limits.js';
import type { ReadRules } from '../../../src/base/model/read-rules.js';
import type { ReadSummary } from '../../../src/source/source.js';
import { rowsOf } from '../collect.js';

interface Read {
  readonly titles: readonly unknown[];
  /** The lines of the rows. */
  readonly lines: readonly unknown[];
  readonly faults: readonly string[];
  readonly summary: ReadSummary;
}

async function read(text: string, rules: Partial<ReadRules>, size = 1000): Promise<Read> {
  const { rows, faults, summary } = await rowsOf(text, { identifiers: 'any', ...rules }, size);
  const titles = rows.map(({ value }) => (value as { readonly title?: unknown }).title);
  const lines = rows.map(({ position }) => position.line);
  return { titles, lines, faults: faults.map(({ detail }) => detail), summary };
}

const ROW = 'id~time~title\n1~2026-10-05T08:00:00Z~Algebra, I\n2~2026-10-05T08:00:00Z~"B ~ C"\n';

test('any one character parts the cells, in pieces of any size', async (t) => {
  for (const delimiter of ['^', ' ', '¦', '→', '😀', ':']) {
    const text = ROW.replaceAll('~', delimiter).replaceAll(/\d\dT[^Z]*Z/g, '5');
    for (const size of [1, 3, 1000]) {
      const { titles, summary } = await read(text.replace(/"B.*"/, 'B'), { delimiter }, size);
      const expected = delimiter === ' ' ? 2 : 'Algebra, I';
      if (delimiter !== ' ') t.same(titles, [expected, 'B'], `${delimiter} in pieces of ${size}`);
      t.same(summary.csv, { delimiter, hasHeader: true });
    }
  }
});

test('the bar is guessed, and one bar in a sentence is none', async (t) => {
  const { titles, summary } = await read(ROW.replaceAll('~', '|'), {});
  t.same(titles, ['Algebra, I', 'B | C']);
  t.same(summary, { format: 'csv', gzipped: false, bytesRead: 79, csv: { delimiter: '|', hasHeader: true } });
  await t.rejects(read('this | that\n', {}), /found the text/);
});

test('columns have given names, or numbers', async (t) => {
  const rows = '05.10.2026|Algebra|A 101\n06.10.2026|Logic|B 2\n';
  t.same((await read(rows, { header: ['day', 'title', 'room'] })).titles, ['Algebra', 'Logic']);
  const numbered = { header: false, fieldMap: { title: 'column 2' } } as const;
  t.same((await read(rows, numbered)).titles, ['Algebra', 'Logic']);
  const { titles, faults } = await read(rows, { header: ['day', 'title'] });
  t.same(titles, []);
  t.match(faults, [/the row has 3 cells; expected 2/, /expected 2/], 'rows of other lengths are faults');
});

test('a first row of data is no header, if the map or a look can use numbers', async (t) => {
  const rows = '05.10.2026;Algebra;A 101\n06.10.2026;Logic;B 2\n';
  await t.rejects(
    read(rows, {}),
    /it looks like data, not like a header.*in a timetable file, header: with their names/,
  );
  const { titles, summary } = await read(rows, { fieldMap: { title: 'column 2' } });
  t.same(titles, ['Algebra', 'Logic']);
  t.same(summary.csv, { delimiter: ';', hasHeader: false });
  t.same((await read(rows, { header: 'guess' })).summary.csv, { delimiter: ';', hasHeader: false });
  t.same((await read('1;2;title\n3;4;x\n', { header: true })).titles, ['x'], 'a header may look like data');
});

test('the header may stand below other lines', async (t) => {
  const text = 'Plan, 2026\n"two\nlines"\n\nid;title\r\n1;Algebra\n2;Logic\n';
  for (const size of [1, 7, 1000]) {
    const { titles, summary } = await read(text, { header: 5 }, size);
    t.same(titles, ['Algebra', 'Logic'], `in pieces of ${size}`);
    t.same(summary.csv, { delimiter: ';', hasHeader: true, headerLine: 5 });
    // In UTF-8 this delimiter has two bytes.
    const barred = text.replace('Plan, 2026', 'Plan;2026;;').replaceAll(';', '¦');
    t.same(
      (await read(barred, { delimiter: '¦', header: 5 }, size)).titles,
      ['Algebra', 'Logic'],
      `¦ ${size}`,
    );
  }
  const guessed = await read(text, { header: 'guess' });
  t.same(guessed.summary.csv, { delimiter: ';', hasHeader: true, headerLine: 5 });
  await t.rejects(read(text, { header: 40 }), /the header is in line 40; the source has fewer lines/);
});

test('a second header line takes the names that it leaves empty from the line above', async (t) => {
  const rows = '1,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z,Algebra\n';
  const text = `id,Time,,title\n,time,endTime,\n${rows}`;
  const fieldMap = { time: 'time' };
  t.same((await read(text, { header: 2, fieldMap })).titles, ['Algebra']);
  const barred = text.replaceAll(',', '¦');
  t.same((await read(barred, { delimiter: '¦', header: 2, fieldMap })).titles, ['Algebra']);
  const guessed = await read(text, { header: 'guess', fieldMap });
  t.same(guessed.titles, ['Algebra']);
  t.equal(guessed.summary.csv?.headerLine, 2);
  t.equal(
    (await read(`id,time,endTime,title\n${rows}`, { header: 'guess' })).summary.csv?.headerLine,
    undefined,
  );
});

for (const [what, beginning, header] of [
  ['a blank line', 'id,Time,,title\n\n,time,endTime,\n', 3],
  ['rows of empty cells', 'id,Time,,title\r\n,,,\r\n\r\n,time,endTime,\r\n', 4],
  ['a quoted line break', 'id,"Time\n(local)",,title\n,time,endTime,\n', 3],
  [
    'quoted line breaks in a title above both',
    '"Plan\r\n2026"\r\n\r\nid,"a\rb",,title\r\n,time,endTime,\r\n',
    6,
  ],
] as const)
  test(`a second header line below a header with ${what}`, async (t) => {
    const text = `${beginning}1,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z,Algebra\n`;
    const fieldMap = { time: 'time' };
    for (const size of [1, 1000]) {
      const { titles, lines } = await read(text, { header, fieldMap }, size);
      t.same(titles, ['Algebra']);
      t.same(lines, [header + 1]);
    }
    const guessed = await read(text, { header: 'guess', fieldMap });
    t.same(guessed.titles, ['Algebra']);
    t.equal(guessed.summary.csv?.headerLine, header);
  });

for (const end of ['\r\n', '\r', '\n'])
  test(`the first bytes that are looked at may end within ${JSON.stringify(end)}`, async (t) => {
    for (const above of [HEAD_BYTES - 2, HEAD_BYTES - 1]) {
      const text = ['x'.repeat(above), 'id;time;title', '1;5;Algebra', '', '2;5;Logic', ''].join(end);
      const { titles, lines } = await read(text, { header: 2, delimiter: ';' }, 2 * HEAD_BYTES);
      t.same(titles, ['Algebra', 'Logic']);
      t.same(lines, [3, 5]);
    }
  });
