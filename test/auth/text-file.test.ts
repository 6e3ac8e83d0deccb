import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { readTextFile } from '../../src/auth/text-file.js';

const BYTES_MAX = 200_000;

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-text-file-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function read(path: string, bytesMax = BYTES_MAX): Promise<string> {
  return readTextFile(path, { name: 'the secret', bytesMax, code: 'key-invalid' });
}

test('a file is read whole, up to the bound and not beyond', async (t) => {
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

test('what is no file is refused in one line', async (t) => {
  const folder = folderFor(t);
  await t.rejects(read(folder), { message: 'the secret cannot be read: it is a directory' });
  await t.rejects(read(join(folder, 'none')), {
    message: 'the secret cannot be read: there is no such file',
  });
});

test('a device that never ends is read up to the bound only', {
  skip: !existsSync('/dev/zero'),
}, async (t) => {
  const message = 'the secret has more than 200000 bytes, the most that are read';
  await t.rejects(read('/dev/zero'), { code: 'key-invalid', message });
});

test('a pipe is read to its end, and no further than the bound', {
  skip: process.platform === 'win32',
}, async (t) => {
  const path = join(folderFor(t), 'pipe');
  execFileSync('mkfifo', [path]);
  const [text] = await Promise.all([read(path), writeFile(path, 'é'.repeat(80_000))]);
  t.equal(text, 'é'.repeat(80_000));
  // The reader leaves early, so the writer may be told that nobody reads any more.
  const writing = writeFile(path, 'x'.repeat(2_000_000)).then(
    () => 'written',
    (error: NodeJS.ErrnoException) => error.code,
  );
  await t.rejects(read(path), { code: 'key-invalid', message: /more than 200000 bytes/ });
  t.equal(await writing, 'EPIPE');
});
