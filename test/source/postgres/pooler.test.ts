import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { openTimetable } from '../../../src/index.js';
import { freePort } from '../../hard/free-port.mjs';
import { until } from '../../waiting/until.js';
import { eventsTable, owner, skip as skipServer, startServer } from './server.js';

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path));
const skip =
  skipServer || (PROGRAM === undefined && 'PgBouncer is not installed (apt-get install pgbouncer)');

async function listens(port: number): Promise<void> {
  await until(async () => {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isOpen;
  });
}

test('a pooler in transaction mode serves loads, and is named when it cannot replicate', {
  skip,
}, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(`${eventsTable('events', 500)} CREATE PUBLICATION lectern FOR TABLE events;`);
  const folder = mkdtempSync(join(tmpdir(), 'lectern-pooler-'));
  chmodSync(folder, 0o755);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const settings = join(folder, 'pgbouncer.ini');
  writeFileSync(
    settings,
    `[databases]\npostgres = host=127.0.0.1 port=${server.port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\n` +
      'auth_type = any\npool_mode = transaction\nunix_socket_dir =\n',
  );
  const pooler = spawn(PROGRAM as string, ['-q', settings], { ...owner(), stdio: 'ignore' });
  t.teardown(async () => {
    if (pooler.exitCode !== null) return;
    pooler.kill('SIGKILL');
    await once(pooler, 'exit');
  });
  await listens(port);
  const source = {
    kind: 'postgres',
    url: `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`,
    table: 'events',
  } as const;
  const loaded = openTimetable({ source, refreshSeconds: 0 });
  t.equal((await loaded.ready).events, 500);
  await loaded.close();
  const followed = openTimetable({ source: { ...source, follow: true } });
  await t.rejects(followed.ready, {
    message: /PgBouncer[^\n]*unsupported startup parameter: replication$/,
  });
  await followed.close();
});
