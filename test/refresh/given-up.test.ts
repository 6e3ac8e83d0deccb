import { test } from 'tap';
import { full, keep } from './kept.js';

test('an abandoned load counts as refused; the source is then asked with the earlier version', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: '1' });
  await keeper.start();
  loader.source = { code: 'memory', detail: 'it takes too much' };
  t.strictSame(await keeper.refresh(false), {
    result: 'refused',
    reason: 'the new snapshot of fake was refused: it takes too much',
  });
  t.match(keeper.state, { state: 'refused', lastError: /it takes too much/ });
  t.equal(loader.asked.at(-1), '1');
  loader.source = { image: full, version: '1' };
  t.equal((await keeper.refresh(false)).result, 'unchanged');
  t.match(keeper.state, { state: 'loaded', lastError: null });
  t.strictSame(told.slice(1), ['refused: memory']);
  await keeper.close();
});

test('a version whose load was abandoned is not read again', async (t) => {
  const { loader, keeper, told } = keep({ image: full, version: '1' });
  await keeper.start();
  loader.source = { code: 'rejected', detail: 'it has too many', version: '2' };
  for (let n = 0; n < 3; n++) {
    t.match(await keeper.refresh(false), { result: 'refused', reason: /it has too many/ });
  }
  t.strictSame(loader.asked, [null, '1', '2', '2']);
  t.strictSame(told.slice(1), ['refused: rejected'], 'reported once');
  t.match(await keeper.refresh(true), { result: 'refused' });
  t.equal(loader.asked.at(-1), null, 'a forced load reads it');
  loader.source = { image: full, version: '1' };
  t.equal((await keeper.refresh(false)).result, 'unchanged');
  t.match(keeper.state, { state: 'loaded', lastError: null });
  await keeper.close();
});

test('a load that ran out of memory is tried again, even with a memory setting', async (t) => {
  const bounds = { memoryBytesMax: 2 ** 30 };
  const { loader, keeper } = keep({ image: full, version: '1' }, { bounds });
  await keeper.start();
  for (const [detail, asked] of [
    ['the load ran out of memory', '1'],
    ['it takes more than the bound', '2'],
  ] as const) {
    loader.source = { code: 'memory', detail, version: '2' };
    t.match(await keeper.refresh(false), { result: 'refused' });
    t.match(await keeper.refresh(false), { result: 'refused' });
    t.equal(loader.asked.at(-1), asked);
  }
  await keeper.close();
});

test('a load refused for lack of free memory is tried again', async (t) => {
  const { loader, keeper } = keep({ image: full, version: '1' });
  await keeper.start();
  loader.source = { code: 'memory', detail: 'it takes too much', version: '2' };
  t.match(await keeper.refresh(false), { result: 'refused' });
  t.match(await keeper.refresh(false), { result: 'refused' });
  t.strictSame(loader.asked, [null, '1', '1']);
  loader.source = { image: full, version: '2' };
  t.equal((await keeper.refresh(false)).result, 'unchanged');
  t.match(keeper.state, { state: 'loaded', lastError: null });
  await keeper.close();
});
