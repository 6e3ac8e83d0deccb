/** The reports to operators about several sources, some of which fail. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import { SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { startService } from '../refresh/built.js';
import { scrape, total } from './scrape.js';
import { get, keptLog } from './threads.js';

const record = (id: string): string =>
  `${JSON.stringify({ id, time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:00:00Z' })}\n`;

test('status, metrics and log name failing sources once, without secrets', async (t) => {
  let isDown = true;
  const server = createServer((_, response) => {
    if (isDown) response.writeHead(500).end();
    else response.end(record('from the address'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = testFolder(t, { 'a.ndjson': record('a'), 'b.ndjson': record('b'), 'readme.md': '' });
  const { log, lines } = keptLog();
  const service = await startService(
    {
      source: [folder, `${origin}/calendar?key=hush`],
      identifiers: 'any',
      port: 0,
      adminPort: 0,
      hs256Secret: SECRET,
      watch: false,
      refreshSeconds: 3600,
    },
    { log },
  );
  t.teardown(() => service.close());
  await service.ready;
  const admin = service.adminAddress?.origin ?? '';
  const status = async () =>
    JSON.parse((await get(`${admin}/status`)).body.toString()) as Record<string, unknown>;
  const sources = async (): Promise<number[]> => {
    const metrics = await scrape(admin);
    return ['ok', 'stale', 'missing'].map((state) => total(metrics, 'lectern_sources', `state="${state}"`));
  };
  const name = `${origin}/calendar?key=…`;

  t.match(await status(), {
    status: 'degraded',
    snapshot: { events: 2 },
    source: {
      state: 'loaded',
      parts: {
        total: 3,
        stale: 0,
        missing: 1,
        skipped: 1,
        listed: [
          { name: join(folder, 'a.ndjson'), state: 'ok', records: 1, lastError: null },
          { name: join(folder, 'b.ndjson'), state: 'ok' },
          { name, state: 'missing', records: 0, lastSuccess: null, lastError: /500/ },
        ],
      },
    },
  });
  t.strictSame(await sources(), [2, 0, 1]);
  t.ok(total(await scrape(admin), 'lectern_source_stale_seconds') > 0);
  t.equal((await get(`${admin}/ready`)).status, 200);

  writeFileSync(join(folder, 'b.ndjson'), 'garbage');
  for (let n = 0; n < 3; n++) await service.timetable.refresh();
  t.strictSame(await sources(), [1, 1, 1]);
  isDown = false;
  writeFileSync(join(folder, 'b.ndjson'), record('b'));
  await service.timetable.refresh();
  t.strictSame(await sources(), [3, 0, 0]);
  t.equal(total(await scrape(admin), 'lectern_source_stale_seconds'), 0);
  t.match(await status(), { status: 'ok', snapshot: { events: 3 } });

  const told = lines
    .filter(({ message }) => message.startsWith('source '))
    .map(({ fields, message }) => [fields.source, fields.state, message]);
  t.strictSame(told, [
    [name, 'missing', 'source failed; the others are served'],
    [join(folder, 'b.ndjson'), 'stale', 'source failed; the others are served'],
    [join(folder, 'b.ndjson'), undefined, 'source works again'],
    [name, undefined, 'source works again'],
  ]);
  t.notMatch(JSON.stringify([lines, await status()]), 'hush');
});
