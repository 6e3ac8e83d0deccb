import { createHash } from 'node:crypto';
import { test } from 'tap';
import type { Head } from '../../src/fleet/store-records.js';
import { SLOW } from '../hard/size.js';
import { MemorySource } from '../refresh/built.js';
import { events, headOf, KINDS, openFleet, signed, titleOf, untilServed, writeKeys } from './fleet.js';

for (const { kind, skip } of SLOW ? KINDS : KINDS.slice(0, 1)) {
  test(`${kind}: replicas refuse bad announcements`, { skip }, async (t) => {
    const fleet = await openFleet(t, kind);
    const source = new MemorySource(events(10, 'good'));
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const replica = fleet.replica();
    await untilServed([replica], 'good');
    await publishing.close();
    const { store } = fleet;
    const good = await store.read('head');
    const head = headOf(good?.text ?? '') as Head;
    let revision = good?.revision ?? null;
    const announce = async (text: string): Promise<string> => {
      revision = await store.swap('head', text, revision);
      await replica.refresh();
      t.equal(titleOf(replica), 'good', 'the good one is served on');
      return replica.source.lastError ?? '';
    };
    const garbage = Buffer.alloc(1000, 7);
    const hash = createHash('sha256').update(garbage).digest('hex');
    await store.put(
      hash,
      (async function* () {
        yield garbage;
      })(),
    );
    const bad = { ...head, sequence: head.sequence + 7, id: 'A'.repeat(22), hash, bytes: garbage.length };
    const stranger = writeKeys(fleet.folder, 'stranger').publisherKey;
    t.match(await announce(await signed(stranger, 'head', bad)), /signature is not valid/);
    t.match(await announce('no JWS'), /signature is not valid/);
    const [protectedHeader, , signature] = (good?.text ?? '').split('.');
    const forged = Buffer.from(JSON.stringify(bad)).toString('base64url');
    t.match(await announce(`${protectedHeader}.${forged}.${signature}`), /signature is not valid/);
    t.match(
      await announce(await signed(fleet.publisherKey, 'head', bad)),
      /not a snapshot file/,
      'garbage with the right hash',
    );
    t.match(
      await announce(await signed(fleet.publisherKey, 'head', { ...bad, bytes: 10 })),
      /not a snapshot file|longer/,
    );
    t.match(
      await announce(await signed(fleet.publisherKey, 'head', { ...bad, hash: 'f'.repeat(64) })),
      /is missing/,
    );
    t.match(
      await announce(await signed(fleet.publisherKey, 'head', { ...bad, hash: 'e'.repeat(64), format: 2 })),
      /format 2/,
    );
    t.match(
      await announce(
        await signed(fleet.publisherKey, 'head', { ...bad, hash: head.hash, bytes: head.bytes }),
      ),
      /its content is/,
    );
    t.match(await announce(await signed(fleet.publisherKey, 'head', { ...bad, sequence: 0 })), /older copy/);

    const healing = await fleet.publisher(new MemorySource(events(11, 'healed')));
    await healing.announced;
    await untilServed([replica], 'healed');
  });
}
