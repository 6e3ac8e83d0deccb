/** The commands of docs/many-machines.md set up a publisher and a replica, here with a folder as the store. */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { testFolder } from '../base/files/test-folder.js';
import { lectern, start } from '../cli/lectern.js';
import { events } from '../fleet/fleet.js';

// It starts about ten processes.
const PAGE = readFileSync(new URL('../../docs/many-machines.md', import.meta.url), 'utf8');

/** Lines of the indented blocks of a page that begin with this text. */
function commandsOf(text: string): readonly string[] {
  const blocks = [...PAGE.matchAll(/^ +```\w+\n(.*?)^ +```$/gms)].map(([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.split('\n').map((line) => line.trim()));
  return lines.filter((line) => line.startsWith(text));
}

test('the set-up in docs/many-machines.md works', async (t) => {
  const folder = testFolder(t);
  const share = join(folder, 'share');
  const [keys = ''] = commandsOf('lectern channel keys');
  t.equal((await lectern([...keys.split(' ').slice(1), join(folder, 'publisher')])).code, 0);
  const key = ['--publisher-key', join(folder, 'publisher.key')];
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: '1' };
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [jwk] }));
  /** The arguments of a command of the page, with files and a store of this test. */
  const here = (line: string): readonly string[] =>
    line
      .split(' ')
      .slice(1)
      .map((word) => {
        if (word.startsWith('nats://')) return `folder://${share}`;
        return /^[\w/.]+\.\w+$|^\/var\//.test(word) ? join(folder, word.split('/').at(-1) ?? '') : word;
      });
  const [publish = '', ...noOthers] = commandsOf('lectern publish ');
  const [serve = ''] = commandsOf('lectern serve ');
  t.strictSame(noOthers, []);
  const announce = async (title: string): Promise<string> => {
    const lines = events(5, title).map((event) => JSON.stringify(event));
    writeFileSync(join(folder, 'timetable.ndjson'), lines.join('\n'));
    const { code, stderr } = await lectern([...here(publish), '--once']);
    t.equal(code, 0, stderr);
    return /"snapshot":"([\w-]{22})","sequence"/.exec(stderr)?.[1] ?? '';
  };
  const first = await announce('first');
  const replica = start([...here(serve), '--port', '0']);
  t.teardown(() => replica.child.kill('SIGKILL'));
  t.equal((await replica.ready()).events, 5);
  const second = await announce('second');
  t.not(first, second);

  const store = `folder://${share}`;
  const shown = async (): Promise<{
    readonly head: { readonly id: string };
    readonly pinned: string | null;
  }> => JSON.parse((await lectern(['channel', 'status', store, '--json', ...key])).stdout);
  t.match(await shown(), { head: { id: second }, pinned: null, replicas: [{ lastError: null }] });
  const actions = [...PAGE.matchAll(/^\| `lectern (channel \w+)(?: <(id)>)?` \|/gm)];
  t.same(
    actions.map(([, action]) => action),
    ['channel status', 'channel rollback', 'channel pin', 'channel unpin'],
  );
  for (const [action, more, pinned] of [
    ['rollback', [], first],
    ['pin', [second], second],
    ['unpin', [], null],
  ] as const) {
    const { code, stderr } = await lectern(['channel', action, ...more, store, ...key]);
    t.equal(code, 0, stderr);
    t.equal((await shown()).pinned, pinned, action);
  }
  replica.child.kill('SIGTERM');
  t.equal((await replica.ended).code, 0);
});
