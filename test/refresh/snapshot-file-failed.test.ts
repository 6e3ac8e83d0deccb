/** A snapshot file that cannot be written is no silence: health, metric, and the end of both. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { get } from '../app/threads.js';
import { testFolder } from '../base/files/test-folder.js';
import { events, until } from '../fleet/fleet.js';
import { MemorySource, openTimetable } from './built.js';

test('a failed write of the snapshot file shows in health and metrics until one succeeds', async (t) => {
  const snapshotFile = join(testFolder(t), 'snapshot');
  const source = new MemorySource(events(10, 'first'));
  const timetable = openTimetable({ source, snapshotFile });
  t.teardown(() => timetable.close());
  const errors: string[] = [];
  timetable.on('error', ({ message }) => void errors.push(message));
  await timetable.ready;
  const server = await timetable.serve({ port: 0, dev: true, admin: { port: 0 } });
  const origin = server.address.origin;
  const health = async (): Promise<{ status: string; snapshotFileError: string | null }> =>
    JSON.parse((await get(`${origin}/health`)).body.toString());
  const metric = async (): Promise<string | undefined> =>
    /^lectern_snapshot_file_failed (\d)$/m.exec(
      (await get(`${server.adminAddress?.origin}/metrics`)).body.toString(),
    )?.[1];
  t.match(await health(), { status: 'ok', snapshotFileError: null });
  t.equal(await metric(), '0');

  await until(() => existsSync(snapshotFile), 'the first write has ended');
  writeFileSync(snapshotFile, 'notes of another program');
  source.replace(events(10, 'second'));
  await until(() => timetable.status === 'degraded', 'the failure shows');
  t.match(await health(), { status: 'degraded', snapshotFileError: /is not a snapshot file/ });
  t.equal(await metric(), '1');
  t.equal(timetable.source.lastError, null, 'the source has no fault');
  t.match(errors, [/is not a snapshot file/]);
  await timetable.refresh();
  t.equal(timetable.status, 'degraded', 'a good load does not hide it');

  rmSync(snapshotFile);
  await until(() => timetable.status === 'ok', 'the write is tried again');
  t.equal(errors.length, 1, 'the reason is reported once');
  t.equal(await metric(), '0');
});
