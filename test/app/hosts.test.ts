/**
 * Hosts that the admin listener accepts, so that no web page reads it under its own name; and probes beside
 * idle clients.
 */
import { connect, type Socket } from 'node:net';
import type { Test } from 'tap';
import { ADMIN_CONNECTIONS_MAX } from '../../src/base/limits.js';
import { AllowedHosts } from '../../src/http/allowed-hosts.js';
import { settingsOf } from '../../src/options/table.js';
import { SECRET } from '../auth/tokens.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { fastTest, slowTest } from '../hard/slow-test.js';
import { MemorySource, startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';

const hostNames = (value: unknown) => settingsOf('admin').get('allowedHosts')?.kind.fault(value);

const RECORDS = [
  {
    id: '00000000-0000-4000-8000-000000000000',
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T09:00:00Z',
  },
];

const ALLOWED: readonly string[] = [
  '127.0.0.1',
  '127.0.0.1:9464',
  '10.2.3.4:3001',
  '203.0.113.7',
  '[::1]',
  '[::1]:9464',
  '[2001:db8::7]:9464',
  'localhost',
  'LocalHost:9464',
  'localhost.',
  'lectern.monitoring.svc',
  'LECTERN.monitoring.svc:9464',
  '127.0.0.1:',
];
const REFUSED: readonly string[] = [
  'evil.example',
  'evil.example:9464',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1.nip.io:9464',
  'xlocalhost',
  'app.localhost',
  'svc',
  'monitoring.svc',
  'lectern.monitoring.svc.evil.example',
  '2130706433',
  '0x7f000001',
  '127.1',
  '[evil.example]',
  '[127.0.0.1]',
  '::1',
  '',
  ':9464',
];

fastTest('a Host header may be an IP address, localhost or a known name, and nothing else', (t) => {
  const hosts = new AllowedHosts(['127.0.0.1', 'Lectern.Monitoring.svc']);
  for (const host of ALLOWED) t.ok(hosts.allow('/metrics', host), host);
  for (const host of REFUSED) {
    t.notOk(hosts.allow('/metrics', host), host);
    t.notOk(hosts.allow(`http://${host}/metrics`, 'localhost'), `${host} in the target`);
  }
  t.notOk(hosts.allow('http://localhost@evil.example/metrics', 'localhost'));
  t.ok(hosts.allow('http://localhost:9464/metrics', '127.0.0.1'));
  t.ok(hosts.allow('/metrics', null), 'HTTP/1.0, which no browser speaks');
  t.equal(hostNames(['a', 'b.example']), null);
  for (const wrong of [
    [],
    'a',
    [''],
    ['a:1'],
    ['*'],
    ['*.example'],
    ['a b'],
    [1],
    ['http://a'],
    Array(101).fill('a'),
  ]) {
    t.type(hostNames(wrong), 'string', JSON.stringify(wrong));
  }
  t.end();
});

/** The whole answer to raw bytes, and the time until it arrived. */
function exchange(port: number, bytes: string): Promise<{ readonly text: string; readonly ms: number }> {
  return new Promise((resolve, reject) => {
    const beganMs = performance.now();
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve({ text, ms: performance.now() - beganMs }));
  });
}

async function start(t: Test, more: object = {}): Promise<number> {
  const options = { port: 0, adminPort: 0, hs256Secret: SECRET, watch: false, ...more };
  const service = await startService({ ...options, source: new MemorySource(RECORDS) });
  t.teardown(() => service.close());
  await service.ready;
  return service.adminAddress?.port ?? 0;
}

const get = (path: string, host: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

fastTest('a web page that rebinds its name to this machine reads nothing', async (t) => {
  const port = await start(t, { adminAllowedHosts: ['lectern.monitoring.svc'] });
  for (const host of ALLOWED)
    t.match((await exchange(port, get('/live', host))).text, /^HTTP\/1\.1 200 /, host);
  for (const path of ['/live', '/ready', '/metrics', '/refresh', '/nowhere']) {
    const { text } = await exchange(port, get(path, `evil.example:${port}`));
    t.match(text, /^HTTP\/1\.1 421 [\s\S]*application\/problem\+json[\s\S]*"code":"host-not-allowed"/, path);
    t.match(text, /Use an IP address, localhost, or a name given with --admin-host or --admin-allowed-host/);
    t.notMatch(text, /evil|lectern_/);
  }
  t.match((await exchange(port, get('http://evil.example/metrics', 'localhost'))).text, /^HTTP\/1\.1 421 /);
  t.match((await exchange(port, 'GET /live HTTP/1.0\r\n\r\n')).text, /^HTTP\/1\.1 200 /);
  await t.rejects(start(t, { adminAllowedHosts: ['a:1'] }), { code: 'option-invalid' });
});

/** Connections that send some bytes, or none, and then are silent. */
async function crowd(t: Test, port: number, count: number, bytes: string): Promise<Socket[]> {
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => resolve(socket));
          socket.once('error', reject);
          socket.on('connect', () => socket.on('error', () => {}));
          if (bytes !== '') socket.write(bytes);
        }),
    ),
  );
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

slowTest('probes and scrapes get answers while many clients stay connected', async (t) => {
  const PROBES = size(10, 100);
  const told: string[] = [];
  const crowds: [name: string, count: number, bytes: string][] = [
    ['idle', 64, ''],
    ['idle', 500, ''],
    ['slow writers', 500, 'GET /live HTTP/1.1\r\nHost: local'],
    ['idle after a request', 500, 'GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ];
  for (const [name, count, bytes] of crowds) {
    const port = await start(t);
    const sockets = await crowd(t, port, count, bytes);
    // Waits until all are accepted, because service and clients share this process.
    await exchange(port, get('/live', '127.0.0.1'));
    let slowestMs = 0;
    for (let n = 0; n < PROBES; n++) {
      const path = n % 2 === 0 ? '/live' : '/metrics';
      const { text, ms } = await exchange(port, get(path, '127.0.0.1'));
      t.match(text, /^HTTP\/1\.1 200 /, `${path} beside ${count} ${name}`);
      slowestMs = Math.max(slowestMs, ms);
    }
    told.push(`${slowestMs.toFixed(0)} ms beside ${count} ${name}`);
    // Other work of the machine may delay some of them.
    await until(
      async () => (await exchange(port, get('/live', '127.0.0.1'))).ms,
      (ms) => ms < 100,
    );
    for (const socket of sockets) socket.destroy();
  }
  t.comment(told.join(', '));
  if (HARD) recordFigure('admin-crowds', `slowest of ${PROBES} probes and scrapes each: ${told.join(', ')}`);
});

fastTest('a probe keeps its open connection while there is room', async (t) => {
  const port = await start(t);
  const [probe] = (await crowd(t, port, 1, '')) as [Socket];
  await crowd(t, port, ADMIN_CONNECTIONS_MAX - 1, '');
  probe.write('GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const text = await new Promise<string>((resolve) => probe.once('data', (data) => resolve(String(data))));
  t.match(text, /^HTTP\/1\.1 200 /);
});
