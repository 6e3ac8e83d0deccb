import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { readImageFile } from '../../src/snapshot/image-file.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { builtModule, openTimetable } from '../refresh/built.js';
import { HARD, size } from './size.js';

const KILLS = size(4, 200);
const EVENTS = size(2000, 5000);
const WRITER = fileURLToPath(new URL('./image-writer.mjs', import.meta.url));

/** Numerical Recipes' linear congruential generator: from 0 to 1, always the same numbers. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The version of all events of an image; throws if the image is incomplete. */
async function versionOf(path: string): Promise<number> {
  const { image, sourceVersion } = readImageFile(path);
  const snapshot = new Snapshot(image);
  const titles = new Set(
    Buffer.from(image.rows.bytes)
      .toString('utf8')
      .match(/version \d+/g),
  );
  const found = [...titles].join(', ');
  if (found !== `version ${sourceVersion}` || snapshot.eventCount !== EVENTS) {
    throw new Error(`an image of ${snapshot.eventCount} events: ${found}, said to be ${sourceVersion}`);
  }
  return Number(sourceVersion);
}

test(`a process killed ${KILLS} times while it writes always leaves a whole image`, {
  timeout: size(60_000, 900_000),
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-kill-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'image');
  const random = seeded(20240902);
  let version = 0;
  let inTheMiddle = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const args = [builtModule('snapshot/image-file.js'), builtModule('snapshot/builder.js'), path];
    const writer = spawn(process.execPath, [WRITER, ...args, String(EVENTS), String(version + 1)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(writer, 'exit');
    await once(writer.stdout, 'data');
    // Wait for the first image: a writer killed before it leaves none, which tests nothing.
    while (version === 0 && !existsSync(path)) await delay(2);
    await delay(random() * 150);
    writer.kill('SIGKILL');
    const [, signal] = await exited;
    t.equal(signal, 'SIGKILL', 'it was writing until then');

    const left = readdirSync(folder).filter((name) => name.endsWith('.tmp'));
    if (left.length > 0) inTheMiddle++;
    const found = await versionOf(path);
    t.ok(found >= version, `whole: version ${found}, after ${version}`);
    if (existsSync(`${path}.1`)) t.ok((await versionOf(`${path}.1`)) <= found, 'and so is the one before');
    version = found;
  }
  // A few kills may all fall between two writes; of two hundred, some must hit one.
  t.ok(!HARD || inTheMiddle > 0, `${inTheMiddle} of ${KILLS} were hit in the middle of a write`);

  const timetable = openTimetable({ source: join(folder, 'no source'), snapshotFile: path, watch: false });
  t.equal((await timetable.ready).events, EVENTS, 'and a restart serves it');
  t.equal(timetable.find({ limit: 1 }).events[0]?.title, `version ${version}`);
  await timetable.close();
});
