import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { events, headOf, KINDS, openCopy, openFleet, until, untilServed } from './fleet.js';

for (const { kind, skip } of KINDS) {
  test(`${kind}: a change of few records is announced as a change`, {
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
    const { address, copy } = await openCopy(t, fleet);
    const [image, record] = [await store.get(first?.hash ?? ''), await store.read('head')];
    if (image === null) throw new Error('the image is not in the store');
    await copy.put(first?.hash ?? '', image);
    await copy.swap('head', record?.text ?? '', null);
    const without = fleet.replica({ source: address });
    t.strictSame(first?.changes, [], 'the first image is whole');

    source.apply({ upsert: [{ ...all[0], title: 'second' }] });
    await untilServed(replicas, 'second');
    const second = await head();
    await untilServed([without], 'first');
    const text = (await store.read('head'))?.text ?? '';
    await copy.swap('head', text, (await copy.read('head'))?.revision ?? null);
    await untilServed([without], 'second');
    t.equal(second?.hash, first?.hash, 'the image file stays, and the change follows it');
    t.equal(second?.contained, 0);
    const [change] = second?.changes ?? [];
    const { hash = '', bytes = 0, content = '' } = change ?? {};
    t.equal(change?.from, first?.sequence);
    t.notOk(
      (await copy.list()).some(({ name }) => name === hash),
      'a replica with the earlier image needs no object',
    );
    t.ok(bytes < 10_000, 'a change is small');
    t.equal(Buffer.from(content, 'base64').length, bytes, 'a short change is in the head');
    const past = headOf((await store.read(`announced.${second?.id}`))?.text ?? '');
    t.strictSame(past?.changes, [{ from: first?.sequence, hash, bytes }], 'and only there');

    const newcomer = fleet.replica();
    await untilServed([newcomer], 'second');
    t.equal(newcomer.summary?.id, second?.id, 'a new replica takes the image file and the change');

    if (kind === 'folder') {
      await store.delete(first?.hash ?? '');
      await until(
        async () => (await head())?.hash !== first?.hash,
        'without the image file, another is stored',
      );
      t.strictSame((await head())?.changes, []);
    }

    source.apply({ upsert: [all[0] as object] });
    await untilServed(replicas, 'first');
    const calendars = replicas.map((each) => Buffer.from(each.findBytes({}, 'ics')).toString());
    t.equal(new Set(calendars).size, 1, 'all say when each event has changed');
    t.equal(new Set(calendars[0]?.match(/^DTSTAMP.*/gm)).size, 2);

    source.replace(all.map((event, n) => (n === 0 ? { ...event, title: 'third' } : event)));
    await untilServed(replicas, 'third');
    const third = await head();
    const last = third?.changes.at(-1);
    t.ok(last, 'a whole load that differs in few records is a change, too');
    const names = (await store.list()).map(({ name }) => name);
    t.ok(names.includes(last?.hash ?? ''), 'cleaning keeps the change');

    source.replace(events(6000, 'fourth'));
    await untilServed(replicas, 'fourth');
    const fourth = await head();
    t.strictSame(fourth?.changes, [], 'after many changes, the image is stored');
    await until(
      () => replicas.every(({ summary }) => summary?.id === fourth?.id),
      'all replicas serve what was announced',
    );
    const bodies = replicas.map((each) => Buffer.from(each.findBytes({})).toString());
    t.equal(new Set(bodies).size, 1, 'equal bytes');
  });
}
