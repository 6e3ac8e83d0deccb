import { join } from 'node:path';
import { test } from 'tap';
import { openStore } from '../../src/store/open-store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { SLOW } from '../hard/size.js';
import { MemorySource } from '../refresh/built.js';
import { events, headOf, KINDS, openFleet, until, untilServed } from './fleet.js';

for (const { kind, skip } of SLOW ? KINDS : KINDS.slice(0, 1)) {
  test(`${kind}: a change of few records is announced with a patch`, {
    skip,
  }, async (t) => {
    const fleet = await openFleet(t, kind);
    const { store } = fleet;
    const all = events(6000, 'first');
    const source = new MemorySource(all);
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const replicas = [fleet.replica(), fleet.replica()];
    await untilServed(replicas, 'first');
    const head = async () => headOf((await store.read('head'))?.text ?? '');
    const first = await head();
    // A second store gets the announcements without the images.
    const address = storeAddress(join(fleet.folder, 'copy'));
    const copy = await openStore(address, 'make');
    t.teardown(() => copy.close());
    const [image, record] = [await store.get(first?.hash ?? ''), await store.read('head')];
    if (image === null) throw new Error('the image is not in the store');
    await copy.put(first?.hash ?? '', image);
    await copy.swap('head', record?.text ?? '', null);
    const without = fleet.replica({ source: address });
    t.equal(first?.patch ?? null, null, 'the first image is whole');

    source.apply({ upsert: [{ ...all[0], title: 'second' }] });
    await untilServed(replicas, 'second');
    const second = await head();
    await untilServed([without], 'first');
    const text = (await store.read('head'))?.text ?? '';
    await copy.swap('head', text, (await copy.read('head'))?.revision ?? null);
    await untilServed([without], 'second');
    t.notOk(
      (await copy.list()).some(({ name }) => name === second?.hash),
      'a patch needs no image',
    );
    t.equal(second?.patch?.base, first?.hash);
    const { bytes = 0, content = '' } = second?.patch ?? {};
    t.ok(bytes < 10_000, 'a patch is small');
    t.equal(Buffer.from(content, 'base64').length, bytes, 'a short patch is in the head');
    const past = headOf((await store.read(`announced.${second?.id}`))?.text ?? '');
    t.strictSame(past?.patch, { base: first?.hash, hash: second?.patch?.hash, bytes }, 'and only there');

    const newcomer = fleet.replica();
    await untilServed([newcomer], 'second');
    t.notOk(
      (await store.list()).some(({ name }) => name === second?.hash),
      'a new replica takes the earlier image and the patch',
    );
    t.strictSame(second?.stored?.hash, first?.hash);
    t.equal(newcomer.summary?.id, second?.id);

    if (kind === 'folder') {
      await store.delete(first?.hash ?? '');
      await until(
        async () => ((await head())?.stored ?? null) === null,
        'without the earlier image, the image is stored',
      );
      t.ok((await store.list()).some(({ name }) => name === second?.hash));
    }

    source.replace(all.map((event, n) => (n === 0 ? { ...event, title: 'third' } : event)));
    await untilServed(replicas, 'third');
    const third = await head();
    t.equal(third?.patch?.base, second?.hash, 'a whole load that differs in few records, too');
    const names = (await store.list()).map(({ name }) => name);
    t.ok(names.includes(third?.patch?.hash ?? ''), 'cleaning keeps the patch');

    source.replace(events(6000, 'fourth'));
    await untilServed(replicas, 'fourth');
    const fourth = await head();
    t.equal(fourth?.patch ?? null, null, 'many changes have no patch');
    await until(
      () => replicas.every(({ summary }) => summary?.id === fourth?.id),
      'all replicas serve what was announced',
    );
    const bodies = replicas.map((each) => Buffer.from(each.findBytes({})).toString());
    t.equal(new Set(bodies).size, 1, 'equal bytes');
  });
}
