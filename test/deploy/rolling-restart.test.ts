/** Three replicas are restarted in turn behind nginx, with the configurations of deploy/, and no read fails. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { parse } from 'yaml';
import { SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { writeKeys } from '../fleet/fleet.js';
import { freePort } from '../hard/free-port.mjs';
import { timetableFile } from '../hard/http-service.js';
import { askNginx, NGINX_MISSING, replaceOnce, startNginx } from './nginx.js';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const CLI = at('dist/cli.js');
const READS_PER_SECOND = 150;
/** In milliseconds. */
const READ_EVERY = 1000 / READS_PER_SECOND;

/** Starts a command of Lectern, and waits for a text of its log. */
async function start(t: Test, args: readonly string[], awaited: string): Promise<ChildProcess> {
  const env = { ...process.env, LECTERN_HS256_SECRET: SECRET, LECTERN_LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  t.teardown(() => stop(child, 'SIGKILL'));
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes(awaited)) resolve();
    });
    child.once('exit', () => reject(new Error(`lectern ${args[0]} ended: ${log}`)));
  });
  return child;
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

/** The two configurations, each with these servers. */
function configurations(ports: readonly number[]): Record<'deploy/nginx.conf' | 'compose.yaml', string> {
  const { configs } = parse(readFileSync(at('deploy/fleet/compose.yaml'), 'utf8'));
  const [alone, composed] = [
    readFileSync(at('deploy/nginx.conf'), 'utf8'),
    configs.balancer.content as string,
  ];
  const servers = (parameters: string): string =>
    ports.map((port) => `server 127.0.0.1:${port}${parameters};`).join('\n');
  const [, ofAlone = ''] = /server 127\.0\.0\.1:3000([^;]*);/.exec(alone) ?? [];
  const [, ofComposed = ''] = /server replica:3000 resolve([^;]*);/.exec(composed) ?? [];
  return {
    'deploy/nginx.conf': replaceOnce(alone, `server 127.0.0.1:3000${ofAlone};`, servers(ofAlone)),
    // nginx resolves names of upstream servers from 1.27.3 on.
    'compose.yaml': replaceOnce(
      replaceOnce(composed, `server replica:3000 resolve${ofComposed};`, servers(ofComposed)),
      'resolver 127.0.0.11 valid=5s;',
      '',
    ).replaceAll('$$', '$'),
  };
}

test('replicas behind nginx restart in turn, and no read is lost', {
  skip: NGINX_MISSING,
  timeout: 120_000,
}, async (t) => {
  const folder = testFolder(t);
  const { publisherKey, publisherPublicKey } = writeKeys(folder, 'publisher');
  const store = `folder://${join(folder, 'store')}`;
  const source = await timetableFile((end) => t.teardown(end), 1000);
  await start(t, ['publish', source, '--to', store, '--publisher-key', publisherKey], 'announced');
  const ports = [await freePort(), await freePort(), await freePort()];
  const startReplica = (port: number): Promise<ChildProcess> => {
    const options = [
      '--port',
      String(port),
      '--publisher-public-key',
      publisherPublicKey,
      '--drain-seconds',
      '1',
    ];
    return start(t, ['serve', store, ...options], '"msg":"ready"');
  };
  const replicas = await Promise.all(ports.map(startReplica));
  const balancers = await Promise.all(
    Object.entries(configurations(ports)).map(async ([name, text]) => {
      return { name, nginx: await startNginx(t, text), statuses: new Map<number | string, number>() };
    }),
  );

  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  let isEnding = false;
  const reads = balancers.map(async ({ nginx, statuses }) => {
    const open = new Set<Promise<void>>();
    const beganMs = performance.now();
    // Reads start at fixed times, even if earlier reads have no answer yet.
    for (let n = 0; !isEnding; n++) {
      await delay(Math.max(0, beganMs + n * READ_EVERY - performance.now()));
      const read = askNginx(nginx.port, `/api/v1/schedule?limit=${1 + (n % 50)}`, agent)
        .then(
          ({ status }) => status,
          (error: Error) => error.message,
        )
        .then((status) => void statuses.set(status, (statuses.get(status) ?? 0) + 1))
        .finally(() => open.delete(read));
      open.add(read);
    }
    await Promise.all(open);
  });
  for (const [n, port] of ports.entries()) {
    const replica = replicas[n];
    if (replica !== undefined) await stop(replica, 'SIGTERM');
    await startReplica(port);
  }
  isEnding = true;
  await Promise.all(reads);
  for (const { name, statuses } of balancers) {
    t.strictSame([...statuses.keys()], [200], `${name}: ${JSON.stringify([...statuses])}`);
  }
});
