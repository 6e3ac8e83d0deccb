import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { assertOneLine, runHere, SECRET } from './run-here.js';

const DEMO = 'fixtures/demo.ndjson.gz';

test('a secret file that is too short is refused without repeating it; its last line break does not count', async (t) => {
  const file = join(t.testdir({}), 'secret.txt');
  writeFileSync(file, `${'s3cr3t-'.repeat(4)}xyz\n`);
  const outcome = await runHere(t, ['serve', DEMO, '--dev', '--hs256-secret-file', file, '--port', '0']);
  assertOneLine(t, outcome, 1, /has 31 bytes; HS256 needs at least 32/, 'short secret file');
  t.notMatch(outcome.stderr, /s3cr3t/);
});

test('the message for an empty secret file says that it is empty', async (t) => {
  const file = join(t.testdir({}), 'secret.txt');
  writeFileSync(file, '\n');
  const outcome = await runHere(t, ['serve', DEMO, '--dev', '--hs256-secret-file', file, '--port', '0']);
  assertOneLine(
    t,
    outcome,
    1,
    /secret\.txt is invalid: it is empty; expected a secret of at least 32 bytes/,
    'empty file',
  );
});

test('a malformed header is never repeated', async (t) => {
  const name =
    /^error: --header \(LECTERN_HEADER\) is invalid: it must be "Name: value" or "https:\/\/host Name: value"$/m;
  for (const header of [
    SECRET,
    `Authorization Bearer ${SECRET}:x`,
    `${SECRET}:`,
    `: ${SECRET}`,
    `https://host ${SECRET}`,
  ]) {
    const argument = await runHere(t, ['serve', 'http://127.0.0.1:9/', '--dev', '--header', header]);
    assertOneLine(t, argument, 2, name, 'argument');
    const variable = await runHere(t, ['serve', 'http://127.0.0.1:9/', '--dev'], { LECTERN_HEADER: header });
    assertOneLine(t, variable, 2, name, 'variable');
  }
});
