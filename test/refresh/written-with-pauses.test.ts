import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { timeForAFault, until } from '../waiting/until.js';
import { FakeLoader } from './fake-loader.js';
import { full, keep, other } from './kept.js';

test('after a patch the file is written with a delay, and on closing with the served events', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-pauses-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'image');
  const loader = new FakeLoader({ image: full, version: '1' });
  loader.stored = new Error('there is none');
  const { keeper } = keep(loader.source, { snapshotFile: path }, loader);
  await keeper.start();
  const written = (): (string | null)[] => loader.written.map(({ sourceVersion }) => sourceVersion);
  t.strictSame(await until(written, (seen) => seen.length > 0), ['1'], 'a load is written at once');
  for (const [version, image] of [
    ['2', other],
    ['3', full],
    ['4', other],
  ] as const) {
    loader.source = { image, version, isPatch: true };
    await keeper.refresh(false);
  }
  await timeForAFault(20);
  t.strictSame(written(), ['1'], 'patches wait');
  await keeper.close();
  t.strictSame(written(), ['1', '4'], 'the last of them');
});
