/** Keys of announcements are rotated while publisher and replicas run. */
import { createPublicKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compactVerify } from 'jose';
import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { events, openChannel, openFleet, titleOf, until, untilServed, writeKeys } from './fleet.js';

test('replicas take both keys, then the publisher signs with the new one', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const next = writeKeys(fleet.folder, 'next');
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const errors: string[] = [];
  const replica = fleet.replica();
  replica.on('error', ({ message }) => void errors.push(message));
  await untilServed([replica], 'first');
  const [old, both] = [fleet.publisherPublicKey, next.publisherPublicKey].map((path) =>
    readFileSync(path, 'utf8'),
  );
  writeFileSync(fleet.publisherPublicKey, 'half a ke');
  await until(
    () => errors.some((each) => /publisher\.pub cannot be used/.test(each)),
    'a bad file is reported',
  );
  source.replace(events(10, 'second'));
  await untilServed([replica], 'second');
  writeFileSync(fleet.publisherPublicKey, `${old}${both}`);
  await replica.reload();
  writeFileSync(fleet.publisherKey, readFileSync(next.publisherKey));
  const nextKey = createPublicKey(readFileSync(next.publisherPublicKey));
  let title = '';
  for (let n = 1, isNext = false; !isNext; n++) {
    title = `third ${n}`;
    source.replace(events(10, title));
    await untilServed([replica], title);
    const head = (await fleet.store.read('head'))?.text ?? '';
    // The publisher reads its key file again every second, so the first ones may have the old signature.
    isNext = await compactVerify(head, nextKey).then(
      () => true,
      () => false,
    );
  }
  const strict = fleet.replica({ publisherPublicKey: next.publisherPublicKey });
  await untilServed([strict], title);
  writeFileSync(fleet.publisherPublicKey, both ?? '');
  await replica.reload();
  source.replace(events(10, 'fourth'));
  await untilServed([replica, strict], 'fourth');
  t.equal(
    titleOf(fleet.replica({ publisherPublicKey: writeKeys(fleet.folder, 'stranger').publisherPublicKey })),
    'nothing',
  );
});

test('a file of public keys holds one PEM, several PEMs in a row, a JWK or a JWKS', async (t) => {
  const folder = t.testdir();
  const pems = ['a', 'b'].map((name) => readFileSync(writeKeys(folder, name).publisherPublicKey, 'utf8'));
  const jwks = pems.map((pem) => createPublicKey(pem).export({ format: 'jwk' }));
  const path = join(folder, 'keys');
  const read = async (text: string): Promise<void> => {
    writeFileSync(path, text);
    const channel = await openChannel(folder, { publisherPublicKey: path });
    await channel.close();
  };
  for (const text of [
    pems[0] ?? '',
    pems.join('\n'),
    JSON.stringify(jwks[0]),
    JSON.stringify({ keys: jwks }),
  ])
    await t.resolves(read(text));
  const secret = readFileSync(join(folder, 'a.key'), 'utf8');
  const bad = { code: 'key-invalid' };
  for (const text of ['', 'none', '{}', '{"keys":[]}', JSON.stringify({ keys: [{ ...jwks[0], d: 'x' }] })])
    await t.rejects(read(text), bad, text);
  await t.rejects(read(`${pems[0]}${secret}`), { ...bad, message: /it is a private key/ });
});
