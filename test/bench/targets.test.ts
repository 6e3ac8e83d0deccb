import { test } from 'tap';

const { printRow } = (await import(new URL('../../bench/targets.mjs', import.meta.url).href)) as {
  printRow(label: string, values: readonly number[], unit: string, target: number | null): void;
};

function printed(...row: Parameters<typeof printRow>): string {
  const { write } = process.stdout;
  let text = '';
  process.stdout.write = ((line: string) => {
    text += line;
    return true;
  }) as typeof write;
  try {
    printRow(...row);
  } finally {
    process.stdout.write = write;
  }
  return text;
}

test('a row has its verdict, or none without a target', async (t) => {
  t.match(
    printed('slow', [3, 1, 2], 's', 1.5),
    /2\.00 s {2}\(1\.00 to 3\.00\).* 1\.33 of target 1\.5 s, MISSED\n$/,
  );
  t.match(printed('fast', [1], 's', 1.5), /0\.67 of target 1\.5 s, met\n$/);
  t.match(printed('none may fail', [0], '', 0), /target 0 , met\n$/);
  t.notMatch(printed('a figure', [1], 's', null), /target|NaN|MISSED/);
  for (const target of ['-', undefined, Number.NaN])
    t.throws(
      () => printed('a figure', [1], 's', target as unknown as number),
      /target of "a figure" is no number/,
    );
});
