import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { SECRET } from '../auth/tokens.js';
import { ROOT, type Running, start } from './lectern.js';

const HOOK = join(ROOT, 'test/cli/loaded-packages.cjs');
/** Packages that only databases, stores and timetable files need. */
const RARE = /^(?:pg|pg-.*|@nats-io\/.*|yaml|jsonata|re2js)$/;

test('clients, and engines of timetable files, are loaded only where they are used', async (t) => {
  const folder = t.testdir({ 'timetable.yaml': 'sources: [{ from: none.csv }]' });
  const packagesOf = async (
    name: string,
    argv: readonly string[],
    use: (running: Running) => Promise<unknown>,
  ): Promise<string[]> => {
    const list = join(folder, name);
    const env = { NODE_OPTIONS: `--require ${HOOK}`, LOADED_PACKAGES: list, LECTERN_HS256_SECRET: SECRET };
    const running = start(argv, env);
    await use(running);
    await running.ended;
    const threads = readFileSync(list, 'utf8').trim().split('\n');
    return [...new Set(threads.flatMap((line) => JSON.parse(line) as string[]))];
  };
  const ofFile = await packagesOf(
    'file',
    ['serve', 'fixtures/demo.ndjson.gz', '--port', '0'],
    async (running) => {
      await running.ready();
      running.child.kill('SIGTERM');
    },
  );
  t.ok(ofFile.includes('pino'), ofFile.join());
  t.strictSame(
    ofFile.filter((name) => RARE.test(name)),
    [],
    'a file needs neither',
  );
  const database = ['inspect', 'postgres://u@127.0.0.1:1/x', '--table', 'events'];
  t.ok((await packagesOf('database', database, async () => {})).includes('pg'), 'the list would show it');
  const ofYaml = await packagesOf('yaml', ['inspect', join(folder, 'timetable.yaml')], async () => {});
  t.same(
    ofYaml.filter((name) => RARE.test(name)),
    ['yaml'],
    'a plain timetable file needs no other engine',
  );
});
