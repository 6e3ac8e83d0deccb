import { test } from 'tap';
import { LecternError } from '../../src/errors.js';
import type { Store } from '../../src/store/store.js';
import { fetchHistoryOnly } from '../../src/thread/fetch-image.js';
import type { FetchTask } from '../../src/thread/task-messages.js';
import { imageOfCount } from '../snapshot/images.js';

const served = imageOfCount(3);
const task: FetchTask = {
  task: 'fetch-image',
  store: 'folder:///nowhere',
  hash: 'a',
  bytes: 1,
  stored: null,
  id: served.summary.id,
  patch: null,
  history: { hash: 'b', bytes: 1 },
  isHistoryAnnounced: true,
  served,
  deltas: [],
  memoryBytesMax: 1e9,
};

test('a history is fetched again if the store did not answer, and given up if it is missing', async (t) => {
  const silent = { get: () => Promise.reject(new LecternError('store-unavailable', 'no answer')) };
  await t.rejects(fetchHistoryOnly(silent as unknown as Store, task), { code: 'store-unavailable' });
  const empty = { get: () => Promise.resolve(null) };
  const done = await fetchHistoryOnly(empty as unknown as Store, task);
  t.strictSame(done, { kind: 'unchanged', sourceVersion: null });
});
