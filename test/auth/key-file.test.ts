/** Key files, as the service reads them at its start. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { startService } from '../../src/app/service.js';
import { MemorySource } from '../../src/index.js';
import { get, keptLog } from '../app/threads.js';
import { hs256, signed } from './tokens.js';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const CLAIMS = { sub: 'a', studyGroup: 'A', exp: 4_000_000_000 };
const RECORD = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2026-09-14T08:00:00Z',
  endTime: '2026-09-14T09:00:00Z',
};

/** Starts a service, sends one request with a token, and returns the status and the warnings about keys. */
async function ask(
  t: Test,
  options:
    | { readonly jwks: string }
    | { readonly hs256SecretFile: string }
    | { readonly hs256Secret: string },
  token: string,
): Promise<{ readonly status: number; readonly warnings: readonly object[] }> {
  const { log, lines } = keptLog();
  const source = new MemorySource([RECORD]);
  const service = await startService({ port: 0, watch: false, source, ...options }, { log });
  t.teardown(() => service.close());
  await service.ready;
  const { status } = await get(`${service.baseUrl}/schedule`, { authorization: `Bearer ${token}` });
  return { status, warnings: lines.filter(({ message }) => message === 'keys of the key set left out') };
}

function fileWith(t: Test, content: string): string {
  const path = join(t.testdir({}), 'keys');
  writeFileSync(path, content);
  return path;
}

test('a key set file with some unusable keys is used with a warning', async (t) => {
  const good = publicKey.export({ format: 'jwk' });
  const token = signed(CLAIMS, privateKey, { alg: 'ES256' });
  const bad = Array.from({ length: 11 }, () => ({ kty: 'RSA', n: 'AQ', e: 'AQAB' }));
  const mixed = await ask(t, { jwks: fileWith(t, JSON.stringify({ keys: [...bad, good] })) }, token);
  t.equal(mixed.status, 200);
  t.match(mixed.warnings, [
    { level: 'warn', fields: { leftOut: 11, reasons: [/^key 1 /], keySet: /keys$/ } },
  ]);
  t.equal((mixed.warnings[0] as { fields: { reasons: unknown[] } }).fields.reasons.length, 10);
  const clean = await ask(t, { jwks: fileWith(t, JSON.stringify({ keys: [good] })) }, token);
  t.strictSame(clean, { status: 200, warnings: [] });
  for (const keys of [[privateKey.export({ format: 'jwk' }), good], bad]) {
    await t.rejects(ask(t, { jwks: fileWith(t, JSON.stringify({ keys })) }, token), { code: 'key-invalid' });
  }
});

test('a secret in base64 verifies tokens, from a file and from a variable', async (t) => {
  const secret = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i));
  const text = `base64:${secret.toString('base64')}`;
  const token = hs256(CLAIMS, { secret });
  t.equal((await ask(t, { hs256SecretFile: fileWith(t, `${text}\n`) }, token)).status, 200);
  t.equal((await ask(t, { hs256Secret: text }, token)).status, 200);
  t.equal(
    (await ask(t, { hs256Secret: text }, hs256(CLAIMS, { secret: text }))).status,
    401,
    'the text is no secret',
  );
});
