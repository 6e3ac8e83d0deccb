/** `lectern/client` in plain JavaScript and in React, against a running service. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { startService } from '../../src/app/service.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('client.mjs prints a week, follows changes, and ends when it is asked to', async (t) => {
  const service = await startService({ source: `${ROOT}/fixtures/demo.ndjson.gz`, dev: true, port: 0 });
  t.teardown(() => service.close());
  await service.ready;
  const example = spawn(process.execPath, ['examples/client.mjs', service.baseUrl, 'INF-2B'], {
    cwd: ROOT,
    env: { ...process.env, NODE_OPTIONS: '', DATE: '2026-10-05' },
  });
  let printed = '';
  for await (const text of example.stdout.setEncoding('utf8')) {
    printed += text;
    if (printed.includes('following version')) break;
  }
  t.match(
    printed,
    /^2026-10-05T08:00:00\.000Z Geometria różniczkowa IV\n(2026-10-[\s\S]*\n){5,}following version \d+\./,
  );
  example.kill('SIGTERM');
  t.same(await once(example, 'close'), [0, null]);
});

test('client.mjs reports a problem with its code', async (t) => {
  const service = await startService({ source: `${ROOT}/fixtures/demo.ndjson.gz`, dev: true, port: 0 });
  t.teardown(() => service.close());
  await service.ready;
  const example = spawn(process.execPath, ['examples/client.mjs', `${service.baseUrl}/none`, 'INF-2B'], {
    cwd: ROOT,
  });
  let told = '';
  example.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  t.same(await once(example, 'close'), [1, null]);
  t.match(told, /^404 not-found: /);
});
