/** The cost of loading the hardest timetables in its own process, compared with an ordinary one: a figure of docs/reliability.md. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import { COMPARED_LAYOUTS, eventsLaidOut, ordinaryEvents, toNdjson } from '../answer/conflict-layouts.js';
import { builtModule } from '../refresh/built.js';
import { recordFigure } from './figures.mjs';
import { HARD, size } from './size.js';

const EVENTS = size(16_000, 100_000);
const ROUNDS = size(1, 3);
const SCRIPT = fileURLToPath(new URL('./load-file.mjs', import.meta.url));

interface Load {
  readonly cpuMs: number;
  readonly peakMib: number;
}

/** The least of several loads, because other work only adds time. */
async function load(path: string): Promise<Load> {
  let least: Load = { cpuMs: Number.POSITIVE_INFINITY, peakMib: Number.POSITIVE_INFINITY };
  for (let round = 0; round < ROUNDS; round++) {
    const args = [SCRIPT, builtModule('index.js'), path];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { cpuMs, peakMib } = JSON.parse(stdout) as Load;
    least = { cpuMs: Math.min(cpuMs, least.cpuMs), peakMib: Math.min(peakMib, least.peakMib) };
  }
  return least;
}

test(`the hardest timetables load within twice the time and memory of ordinary ones: ${EVENTS} events`, {
  timeout: size(100_000, 600_000),
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-conflicts-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'events.ndjson');
  writeFileSync(path, toNdjson(ordinaryEvents(EVENTS)));
  const usual = await load(path);
  let [cpuRatio, memoryRatio] = [0, 0];
  const loads: Record<string, Load> = { ordinary: usual };
  for (const layout of COMPARED_LAYOUTS) {
    writeFileSync(path, toNdjson(eventsLaidOut(layout, EVENTS)));
    const { cpuMs, peakMib } = await load(path);
    loads[layout] = { cpuMs, peakMib };
    t.ok(cpuMs <= 2 * usual.cpuMs, `${layout}: ${cpuMs.toFixed(0)} ms, ordinary ${usual.cpuMs.toFixed(0)}`);
    t.ok(
      peakMib <= 2 * usual.peakMib,
      `${layout}: ${peakMib.toFixed(0)} MiB, ordinary ${usual.peakMib.toFixed(0)}`,
    );
    cpuRatio = Math.max(cpuRatio, cpuMs / usual.cpuMs);
    memoryRatio = Math.max(memoryRatio, peakMib / usual.peakMib);
  }
  const measured = `at most ${cpuRatio.toFixed(2)} times the processor time and ${memoryRatio.toFixed(2)} times the memory; ordinary ${(usual.cpuMs / 1000).toFixed(1)} s, ${usual.peakMib.toFixed(0)} MiB`;
  t.comment(measured);
  if (HARD) recordFigure('conflict-load', measured, loads);
});
