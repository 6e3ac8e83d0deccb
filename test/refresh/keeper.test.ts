import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { LecternError } from '../../src/index.js';
import { imageOfCount } from '../snapshot/images.js';
import { timeForAFault, until } from '../waiting/until.js';
import { FakeLoader } from './fake-loader.js';
import { down, full, half, keep, keepStored, other, STORED, titleOf } from './kept.js';

const LOADING = { state: 'loading', lastSuccessMs: null, lastError: null, failingSinceMs: null, parts: null };

/** A promise that the test resolves. */
function latch(): { readonly promise: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

test('a load publishes new data, and not unchanged data', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: '1' });
  t.match(keeper.state, LOADING);
  await keeper.start();
  t.match(keeper.state, {
    state: 'loaded',
    lastSuccessMs: 1,
    lastSuccessMonotonicMs: Number,
    lastError: null,
  });
  await keeper.refresh(false);
  loader.source = { image: imageOfCount(10, { title: 'full' }), version: '2' };
  await keeper.refresh(false);
  loader.source = { image: other, version: '3' };
  await keeper.refresh(false);
  t.strictSame(told, ['published full from source', 'published other from source +0 ~10 -0']);
  t.strictSame(loader.asked, [null, '1', '1', '2'], 'each asks about the version that came last');
  t.equal(keeper.state.lastSuccessMs, 4, 'not modified and unchanged are successes, too');
  await keeper.close();
});

test('a failure is reported and keeps the served snapshot; the next success ends it', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: '1' });
  await keeper.start();
  loader.source = down;
  await keeper.refresh(false);
  t.match(keeper.state, {
    state: 'failed',
    lastSuccessMs: 1,
    lastError: 'the upstream is down',
    failingSinceMs: 2,
  });
  await keeper.refresh(false);
  t.equal(keeper.state.failingSinceMs, 2, 'since it began');
  t.equal(keeper.state.overdueAtMs, 2, 'at once without regular refreshes');
  loader.source = { image: full, version: '1' };
  await keeper.refresh(false);
  t.match(keeper.state, { state: 'loaded', lastSuccessMs: 3, lastError: null, failingSinceMs: null });
  const failed = 'failed: the upstream is down';
  t.strictSame(told, ['published full from source', failed, failed]);
  t.strictSame(loader.asked, [null, '1', '1', '1']);
  await keeper.close();
});

test('a refused set stays refused until the source changes', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: '1' });
  await keeper.start();
  loader.source = { image: half, version: '2' };
  await keeper.refresh(false);
  const refused = {
    state: 'refused',
    lastSuccessMs: 1,
    lastError: /^the new snapshot of fake was refused: it has 5 events, 50\.0 % fewer/,
  };
  t.match(keeper.state, refused);
  await keeper.refresh(false);
  t.match(keeper.state, refused, 'not modified: still what was refused');
  t.strictSame(loader.asked, [null, '1', '2'], 'and it was not loaded again');

  loader.source = down;
  await keeper.refresh(false);
  t.equal(keeper.state.state, 'failed');
  loader.source = { image: half, version: '2' };
  await keeper.refresh(false);
  t.match(keeper.state, refused, 'back, with what was refused: not a failure any more, nor a success');

  loader.source = { image: full, version: '3' };
  await keeper.refresh(false);
  t.match(keeper.state, { state: 'loaded', lastError: null }, 'the served content is back');
  await keeper.refresh(false);
  t.equal(keeper.state.state, 'loaded');
  t.strictSame(told, ['published full from source', 'refused: shrunk', 'failed: the upstream is down']);
  await keeper.close();
});

test('a forced load publishes a set that was refused', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: '1' });
  await keeper.start();
  loader.source = { image: half, version: '2' };
  await keeper.refresh(false);
  await keeper.refresh(true);
  t.strictSame(told, [
    'published full from source',
    'refused: shrunk',
    'published half from source +0 ~5 -5',
  ]);
  t.strictSame(loader.asked, [null, '1', null], 'asked without a version: not modified would bring nothing');
  t.match(keeper.state, { state: 'loaded', lastError: null });
  loader.source = { image: imageOfCount(0), version: '3' };
  await keeper.refresh(true);
  t.equal(told.at(-1), 'published nothing from source +0 ~0 -5');
  await keeper.close();
});

test('without a gate everything is published', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: null }, { gate: null });
  await keeper.start();
  loader.source = { image: imageOfCount(0), version: null };
  await keeper.refresh(false);
  t.strictSame(told, ['published full from source', 'published nothing from source +0 ~0 -10']);
  await keeper.close();
});

test('too many rejected records are refused; a set with another number of them may pass', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: null });
  await keeper.start();
  loader.source = { image: imageOfCount(10, { title: 'full' }, 2), version: null };
  await keeper.refresh(false);
  loader.source = { image: imageOfCount(10, { title: 'full' }, 1), version: null };
  await keeper.refresh(false);
  t.strictSame(told, [
    'published full from source',
    'refused: rejected',
    'published full from source +0 ~0 -0',
  ]);
  await keeper.close();
});

test('the image on disk is served at once, and the source is asked conditionally', async (t) => {
  const { loader, keeper, told } = keepStored(t, { image: other, version: '8' });
  const answer = latch();
  loader.gate = answer.promise;
  await keeper.start();
  t.strictSame(told, ['published full from disk'], 'served before the source has answered');
  t.match(keeper.state, LOADING);
  answer.open();
  await keeper.refresh(false);
  t.strictSame(told, ['published full from disk', 'published other from source +0 ~10 -0']);
  t.strictSame(loader.asked, ['7', '8']);
  await keeper.close();
  t.strictSame(
    loader.written.map(({ image, sourceVersion }) => [titleOf(image), sourceVersion]),
    [['other', '8']],
    'what came from disk is not written again',
  );
});

test('an unchanged source confirms the image on disk', async (t) => {
  const { loader, keeper, told } = keepStored(t, { image: full, version: '7' });
  await keeper.start();
  await keeper.refresh(false);
  t.strictSame(told, ['published full from disk']);
  t.match(keeper.state, { state: 'loaded', lastError: null });
  t.strictSame(loader.written, []);
  await keeper.close();
});

test('the gate protects a good image from disk', async (t) => {
  const { loader, keeper, told } = keepStored(t, { image: half, version: '8' });
  await keeper.start();
  await keeper.refresh(false);
  t.strictSame(told, ['published full from disk', 'refused: shrunk']);
  t.equal(keeper.state.state, 'refused');
  await keeper.close();
  t.strictSame(loader.written, [], 'what is refused does not go to disk');
});

test('a damaged snapshot file is reported, and the source is loaded', async (t) => {
  const damaged = new LecternError('image-unusable', 'its header is damaged');
  const { loader, keeper, told } = keepStored(t, { image: full, version: '7' }, damaged);
  await keeper.start();
  t.strictSame(told, ['failed: its header is damaged', 'published full from source']);
  t.strictSame(loader.asked, [null]);
  t.match(keeper.state, { state: 'loaded', lastError: null });
  await keeper.close();
  t.equal(loader.written.length, 1, 'and it is written again');
});

test('an unwritable snapshot file is reported, and changes nothing else', async (t) => {
  const loader = new FakeLoader({ image: full, version: '1' });
  loader.writeFailure = new Error('no space left');
  const snapshotFile = join(tmpdir(), 'lectern-keeper-none');
  const { keeper, told } = keep({ image: full, version: '1' }, { snapshotFile }, loader);
  await keeper.start();
  await keeper.close();
  t.strictSame(told, [
    'published full from source',
    `failed: the snapshot file ${snapshotFile} could not be written: no space left`,
  ]);
  t.match(keeper.state, { state: 'loaded', lastError: null });
});

test('a pinned file is served, and the source is never asked', async (t) => {
  const loader = new FakeLoader(down);
  loader.stored = STORED;
  const { keeper, told } = keep(down, { pin: 'some image', refreshSeconds: 0.001, watch: true }, loader);
  await keeper.start();
  await keeper.refresh(true);
  await timeForAFault(20);
  t.strictSame(told, ['published full from pin']);
  t.strictSame(loader.asked, []);
  t.equal(loader.onChange, null);
  await keeper.close();
  loader.stored = new LecternError('image-unusable', 'its header is damaged');
  const damaged = keep(down, { pin: 'some image' }, loader);
  await t.rejects(damaged.keeper.start(), { code: 'image-unusable' });
  await damaged.keeper.close();
});

test('without a regular refresh a failed first load is final', async (t) => {
  const failing = keep(down);
  await t.rejects(failing.keeper.start(), down);
  await failing.keeper.close();
  const empty = keep({ image: imageOfCount(0), version: '1' });
  await t.rejects(empty.keeper.start(), { code: 'snapshot-refused', message: /it has no events/ });
  t.equal(empty.keeper.state.state, 'refused');
  await empty.keeper.refresh(true);
  t.strictSame(empty.told, ['refused: empty', 'published nothing from source'], 'but it can be forced');
  await empty.keeper.close();
});

test('with a regular refresh a failed first load is tried again', async (t) => {
  const { loader, keeper, told } = keep(down, { refreshSeconds: 0.005 });
  const started = keeper.start();
  await until(
    () => loader.asked.length,
    (seen) => seen >= 3,
  );
  t.equal(keeper.state.state, 'failed');
  loader.source = { image: full, version: '1' };
  await started;
  t.equal(told.at(-1), 'published full from source');
  t.ok(told.length >= 4);
  t.ok(told.slice(0, -1).every((line) => line === 'failed: the upstream is down'));
  await keeper.close();
});

test('a source that reports a change is loaded at once, unless the keeper is closed', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: '1' }, { watch: true });
  await keeper.start();
  loader.source = { image: other, version: '2' };
  for (let n = 0; n < 5; n++) loader.onChange?.();
  await until(
    () => told.length,
    (seen) => seen >= 2,
  );
  await timeForAFault(5);
  t.strictSame(told, ['published full from source', 'published other from source +0 ~10 -0']);
  t.equal(loader.asked.length, 2, 'changes that come together are one load');
  await keeper.close();
  t.equal(loader.onChange, null);
});

for (const refreshSeconds of [0, 10]) {
  test(`closing aborts the first load, with a refresh every ${refreshSeconds} s`, async (t) => {
    const loader = new FakeLoader({ image: full, version: '1' });
    loader.gate = new Promise(() => {});
    const { keeper, told } = keep({ image: full, version: '1' }, { refreshSeconds }, loader);
    const started = keeper.start();
    const rejected = t.rejects(started, { code: 'closed' });
    // One turn of the event loop.
    await delay(0);
    await keeper.close();
    await rejected;
    t.strictSame(told, [], 'which is no failure');
  });
}

test('closing ends the wait for another first load', async (t) => {
  const { keeper, told } = keep(down, { refreshSeconds: 10 });
  const started = keeper.start();
  await timeForAFault(5);
  await keeper.close();
  await started;
  t.strictSame(told, ['failed: the upstream is down']);
});
