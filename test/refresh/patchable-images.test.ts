import { test } from 'tap';
import type { FakeLoader } from './fake-loader.js';
import { full, keepStored, other } from './kept.js';

/** Whether loads were allowed to patch, by the version that they asked about. */
function mayPatchFrom({ asked, mayPatch }: FakeLoader): Readonly<Record<string, boolean | undefined>> {
  return Object.fromEntries(asked.map((version, n) => [String(version), mayPatch[n]]));
}

test('a load may patch an image that this process built; images from disk and forced loads are built whole', async (t) => {
  const { loader, keeper } = keepStored(t, { image: other, version: '8' });
  await keeper.start();
  await keeper.refresh(false);
  loader.source = { image: full, version: '9', isPatch: true };
  await keeper.refresh(false);
  loader.source = { image: other, version: '10' };
  await keeper.refresh(false);
  await keeper.refresh(true);
  t.strictSame(mayPatchFrom(loader), { 7: false, 8: true, 9: true, null: false });
});

test('a load does not patch an image that was patched from one on disk', async (t) => {
  const { loader, keeper } = keepStored(t, { image: other, version: '8', isPatch: true });
  await keeper.start();
  await keeper.refresh(false);
  loader.source = { image: full, version: '9' };
  await keeper.refresh(false);
  loader.source = { image: other, version: '10' };
  await keeper.refresh(false);
  t.strictSame(mayPatchFrom(loader), { 7: false, 8: false, 9: true });
});
