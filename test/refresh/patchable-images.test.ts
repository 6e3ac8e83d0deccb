import { test } from 'tap';
import type { FakeLoader } from './fake-loader.js';
import { full, keepStored, other } from './kept.js';

/** Whether loads might patch, by the version that they asked about. */
function mayPatchFrom({ asked, mayPatch }: FakeLoader): Readonly<Record<string, boolean | undefined>> {
  return Object.fromEntries(asked.map((version, n) => [String(version), mayPatch[n]]));
}

test('loads may patch what this process built, and neither images from disk nor in forced loads', async (t) => {
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

test('a patch of an image from disk may not be patched by a load', async (t) => {
  const { loader, keeper } = keepStored(t, { image: other, version: '8', isPatch: true });
  await keeper.start();
  await keeper.refresh(false);
  loader.source = { image: full, version: '9' };
  await keeper.refresh(false);
  loader.source = { image: other, version: '10' };
  await keeper.refresh(false);
  t.strictSame(mayPatchFrom(loader), { 7: false, 8: false, 9: true });
});
