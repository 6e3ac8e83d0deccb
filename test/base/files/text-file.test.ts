/** Small files of every kind, and pipes. Inside, because each setting with a file reads it in this way. */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, promises, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { readTextFile, readTextFileNow } from '../../../src/base/files/text-file.js';
import { PublicKeys, SigningKey } from '../../../src/fleet/keys.js';
import { timeForAFault, until } from '../../waiting/until.js';

const BYTES_MAX = 200_000;

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-text-file-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function read(path: string, bytesMax = BYTES_MAX): Promise<string> {
  return readTextFile(path, { name: 'the secret', bytesMax, code: 'key-invalid' });
}

test('a file is read whole, up to the bound', async (t) => {
  const path = join(folderFor(t), 'secret');
  const cases: [name: string, bytes: Uint8Array | string, outcome: string | RegExp][] = [
    ['empty', '', ''],
    ['text', 'Zürich\n', 'Zürich\n'],
    ['a byte order mark', '\ufeffa', 'a'],
    ['several pieces', 'é'.repeat(99_999), 'é'.repeat(99_999)],
    ['as long as allowed', 'x'.repeat(BYTES_MAX), 'x'.repeat(BYTES_MAX)],
    ['a byte too long', 'x'.repeat(BYTES_MAX + 1), /^the secret has 200001 bytes; at most 200000 are read$/],
    ['not UTF-8', Buffer.from([0x61, 0xff]), /^the secret cannot be read: it is not UTF-8 text$/],
  ];
  for (const [name, bytes, outcome] of cases) {
    writeFileSync(path, bytes);
    if (typeof outcome === 'string') t.equal(await read(path), outcome, name);
    else await t.rejects(read(path), { code: 'key-invalid', message: outcome }, name);
  }
});

test('a path that is not a file is refused in one line', async (t) => {
  const folder = folderFor(t);
  await t.rejects(read(folder), { message: 'the secret cannot be read: it is a directory; expected a file' });
  await t.rejects(read(join(folder, 'none')), {
    message: 'the secret cannot be read: there is no such file',
  });
});

test('what is read with blocking calls is a regular file: nothing waits for the writer of a pipe', {
  skip: process.platform === 'win32',
}, (t) => {
  const pipe = join(folderFor(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const message = 'the secret is not a regular file; expected one';
  const options = { name: 'the secret', bytesMax: BYTES_MAX, code: 'key-invalid' } as const;
  t.throws(() => readTextFileNow(pipe, options), { message });
  for (const read of [() => PublicKeys.ofFile(pipe), () => new SigningKey(pipe)])
    t.throws(read, { message: `the key file ${pipe} is not a regular file; expected one` });
  t.end();
});

test('a device that never ends is read only up to the bound', {
  skip: !existsSync('/dev/zero'),
}, async (t) => {
  const message = 'the secret has more than 200000 bytes, the most that are read';
  await t.rejects(read('/dev/zero'), { code: 'key-invalid', message });
});

test('a pipe is read to its end, up to the bound', {
  skip: process.platform === 'win32',
}, async (t) => {
  const path = join(folderFor(t), 'pipe');
  execFileSync('mkfifo', [path]);
  const silent = {
    code: 'key-invalid',
    message: 'the secret is a pipe without a writer; expected a file',
  };
  await t.rejects(read(path), silent, 'it is not waited for');
  // Opened for reading and writing, it counts as a writer and does not wait.
  const writer = openSync(path, 'r+');
  const whole = Promise.all([read(path), writeFile(path, 'é'.repeat(80_000)).then(() => closeSync(writer))]);
  t.equal((await whole)[0], 'é'.repeat(80_000));
  // The reader leaves early, so the writer may get EPIPE.
  const writing = writeFile(path, 'x'.repeat(2_000_000)).then(
    () => 'written',
    (error: NodeJS.ErrnoException) => error.code,
  );
  // Its opening waits for the reader's, in another thread.
  await timeForAFault(100);
  await t.rejects(read(path), { code: 'key-invalid', message: /more than 200000 bytes/ });
  t.equal(await writing, 'EPIPE');
});

test('a pipe whose writer sends nothing is given up', { skip: process.platform === 'win32' }, async (t) => {
  const path = join(folderFor(t), 'pipe');
  execFileSync('mkfifo', [path]);
  const writer = openSync(path, 'r+');
  t.teardown(() => closeSync(writer));
  const options = { name: 'the secret', bytesMax: BYTES_MAX, code: 'key-invalid', msMax: 200 } as const;
  await t.rejects(readTextFile(path, options), {
    code: 'key-invalid',
    message: 'the secret was not read within 0.2 s: nothing writes to it',
  });
});

test('a file system that hangs keeps one thread, however often the file is read, and is read when it answers', async (t) => {
  const path = join(folderFor(t), 'secret');
  writeFileSync(path, 'text');
  const { stat } = promises;
  let [calls, goOn] = [0, (): void => {}];
  const hung = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  promises.stat = (async (...args: Parameters<typeof stat>) => {
    calls++;
    await hung;
    return stat(...args);
  }) as typeof stat;
  syncBuiltinESMExports();
  t.teardown(() => {
    promises.stat = stat;
    syncBuiltinESMExports();
  });
  const options = { name: 'the secret', bytesMax: BYTES_MAX, code: 'key-invalid', msMax: 20 } as const;
  for (let n = 0; n < 3; n++)
    await t.rejects(readTextFile(path, options), {
      message: 'the secret cannot be read: its file system does not answer',
    });
  t.equal(calls, 1);
  goOn();
  await until(
    () => readTextFile(path, { ...options, msMax: 10_000 }).then(String, () => ''),
    (text) => text === 'text',
  );
  t.equal(calls, 2);
});

test('the argument <(command) of a shell is read', { skip: !existsSync('/bin/bash') }, (t) => {
  const module = new URL(
    import.meta.url.endsWith('.js')
      ? '../../../dist/base/files/text-file.js'
      : '../../../src/base/files/text-file.ts',
    import.meta.url,
  );
  const program = `import(${JSON.stringify(module.href)}).then(async ({ readTextFile }) => {
    console.log(await readTextFile(process.argv[1], { name: 'it', bytesMax: 100, code: 'key-invalid' }));
  });`;
  const loader = import.meta.url.endsWith('.js') ? [] : ['--import', 'tsx'];
  const script = '"$0" "$@" <(sleep 0.2; printf "a secret")';
  const argv = ['-c', script, process.execPath, ...loader, '-e', program];
  t.equal(execFileSync('/bin/bash', argv, { encoding: 'utf8' }), 'a secret\n');
  t.end();
});
