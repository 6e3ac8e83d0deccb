/** A fleet is upgraded to a version with another image format, and rolled back, while it serves. */
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import tap, { test } from 'tap';
import { IMAGE_FORMAT_VERSION } from '../../src/snapshot/image-format.js';
import { goodClaims, hs256, SECRET } from '../auth/tokens.js';
import { ROOT, type Running, startNode } from '../cli/lectern.js';
import { testFolder } from '../files/test-folder.js';
import { events, openChannel, until, writeKeys } from './fleet.js';

tap.setTimeout(390_000);

const NOW = IMAGE_FORMAT_VERSION;
const NEXT = NOW + 1;
const TOKEN = hs256(goodClaims({ exp: Math.floor(Date.now() / 1000) + 3600 }));

/**
 * Copies the source, and gives the copy the next version number and image format. It can also read the present
 * format.
 */
function makeNextVersion(folder: string): string {
  cpSync(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
  const given = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...given, version: '99.0.0' }));
  const path = join(folder, 'src/snapshot/image-format.ts');
  const text = readFileSync(path, 'utf8');
  const next = text
    .replace(`IMAGE_FORMAT_VERSION = ${NOW};`, `IMAGE_FORMAT_VERSION = ${NEXT};`)
    .replace(`  ${NOW}: (parts) => parts,`, `  ${NOW}: (parts) => parts,\n  ${NEXT}: (parts) => parts,`);
  if (next.split(String(NEXT)).length !== 3) throw new Error('the next version could not be made');
  writeFileSync(path, next);
  return join(folder, 'src/cli.ts');
}

/** Reads from a replica all the time, until it is told to stop. */
class Reader {
  readonly seen: string[] = [];
  readonly failures: string[] = [];
  readonly #url: string;
  #isEnding = false;
  readonly #ended: Promise<void>;

  constructor(url: string) {
    this.#url = url;
    this.#ended = this.#read();
  }

  get last(): string {
    return this.seen.at(-1) ?? 'nothing';
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#ended;
  }

  async #read(): Promise<void> {
    while (!this.#isEnding) {
      try {
        const response = await fetch(`${this.#url}/schedule?limit=1`, {
          headers: { Authorization: `Bearer ${TOKEN}` },
        });
        const [event] = (await response.json()) as { readonly title: string }[];
        if (response.status === 200) this.seen.push(String(event?.title));
        else this.failures.push(String(response.status));
      } catch (error) {
        this.failures.push(String(error));
      }
      await delay(50);
    }
  }
}

test('a fleet survives an upgrade of the format, and its rollback', { timeout: 390_000 }, async (t) => {
  const folder = testFolder(t, { next: {} });
  const cli = { now: join(ROOT, 'src/cli.ts'), next: makeNextVersion(join(folder, 'next')) };
  const { keyFile, publicKeyFile } = writeKeys(folder, 'feed');
  const [source, store] = [join(folder, 'events.ndjson'), join(folder, 'share')];
  const write = (title: string): void => {
    writeFileSync(
      `${source}.new`,
      `${events(50, title)
        .map((each) => JSON.stringify(each))
        .join('\n')}\n`,
    );
    renameSync(`${source}.new`, source);
  };
  write('first');

  const running = new Set<Running>();
  const readers: Reader[] = [];
  const channel = await openChannel(store, { publicKeyFile });
  t.teardown(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all([...running].map(({ ended }) => ended));
    await channel.close();
  });
  const start = (argv: readonly string[]): Running => {
    const one = startNode(argv, { LECTERN_HS256_SECRET: SECRET });
    running.add(one);
    return one;
  };
  const stop = async (one: Running, signal: NodeJS.Signals = 'SIGTERM'): Promise<string> => {
    one.child.kill(signal);
    running.delete(one);
    return (await one.ended).stderr;
  };
  const publisher = (version: 'now' | 'next'): Running =>
    start([cli[version], 'publish', source, '--to', store, '--feed-key', keyFile]);
  const replica = async (version: 'now' | 'next', name: string) => {
    const snapshot = ['--snapshot-file', join(folder, name)];
    const argv = [
      'serve',
      `folder://${store}`,
      '--feed-public-key',
      publicKeyFile,
      '--port',
      '0',
      ...snapshot,
    ];
    const process = start([cli[version], ...argv]);
    const reader = new Reader((await process.ready()).url);
    readers.push(reader);
    const end = async (): Promise<void> => {
      await reader.end();
      await stop(process);
    };
    return { reader, end };
  };
  const untilHead = (format: number): Promise<number> =>
    until(async () => (await channel.status()).head?.format === format, `the head has format ${format}`);
  const untilSeen = (title: string, all: readonly { readonly reader: Reader }[]): Promise<number> =>
    until(() => all.every(({ reader }) => reader.last === title), `all serve ${title}`);
  const untilLed = (isLed: boolean): Promise<number> =>
    until(async () => ((await channel.status()).leader !== null) === isLed, `led: ${isLed}`);

  let old = publisher('now');
  await untilHead(NOW);
  const [a, b] = [await replica('now', 'a'), await replica('now', 'b')];
  await until(async () => (await channel.status()).replicas.length === 2, 'both report');

  t.comment('A new publisher too early does not lead.');
  const early = publisher('next');
  await delay(5000);
  await stop(old);
  await untilLed(false);
  await delay(3000);
  t.equal((await channel.status()).leader, null);
  t.equal((await channel.status()).head?.format, NOW);
  old = publisher('now');
  await untilLed(true);
  write('second');
  await untilSeen('second', [a, b]);
  t.match(
    await stop(early),
    /this publisher does not lead: it writes images of format \d+, which 2 replicas cannot read/,
  );

  t.comment('Replicas first: the new ones read the old format.');
  await a.end();
  const newA = await replica('next', 'a');
  await b.end();
  const newB = await replica('next', 'b');
  write('third');
  await untilSeen('third', [newA, newB]);
  t.equal((await channel.status()).head?.format, NOW);

  t.comment('Then publishers.');
  const next = publisher('next');
  await stop(old);
  await untilHead(NEXT);
  t.equal(
    (await channel.status()).head?.previous,
    (await channel.status()).head?.id,
    'the content is the same',
  );
  write('fourth');
  await untilSeen('fourth', [newA, newB]);
  t.equal((await channel.status()).head?.format, NEXT);

  t.comment('Back: publishers first.');
  old = publisher('now');
  await delay(5000);
  await stop(next, 'SIGKILL');
  await untilHead(NOW);
  await newA.end();
  const oldA = await replica('now', 'a');
  write('fifth');
  await untilSeen('fifth', [oldA, newB]);
  const inNext = (await channel.status()).images.find(({ format }) => format === NEXT);
  if (inNext !== undefined) await t.rejects(channel.pin(inNext.id), { message: /cannot read/ });
  t.not(await channel.rollback(), inNext?.id, 'an image that all can read');
  await until(
    () => oldA.reader.last === newB.reader.last && oldA.reader.last !== 'fifth',
    'both rolled back',
  );
  await channel.unpin();
  await untilSeen('fifth', [oldA, newB]);
  await newB.end();
  const oldB = await replica('now', 'b');
  await untilSeen('fifth', [oldA, oldB]);
  await Promise.all([oldA.end(), oldB.end()]);
  await stop(old);
  t.strictSame(
    readers.flatMap(({ failures }) => failures),
    [],
    'no read failed',
  );
  t.ok(readers.every(({ seen }) => seen.length > 0));
});
