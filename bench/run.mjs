/**
 * What a request costs: server processor time per request, as a ratio to the floor.
 *
 *     npm run bench -- [--quick] [--events 100000] [--rounds 5] [--seconds 3] [--only <part of a name>] [--json <file>]
 *
 * The floor is bare node:http with a constant body of the same length and the same header fields, under the same requests, in
 * the same rounds.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { interleave, median, Program, startServer } from './measure.mjs';
import { workloadsOf } from './workloads.mjs';

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    events: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string', default: '' },
    json: { type: 'string' },
  },
});
const settings = {
  events: Number(given.events ?? (given.quick ? 10_000 : 100_000)),
  rounds: Number(given.rounds ?? (given.quick ? 1 : 5)),
  durationSeconds: Number(given.seconds ?? (given.quick ? 1 : 3)),
  requests: given.quick ? 20_000 : 300_000,
  connections: 64,
  seed: 1,
};
const SECRET = 'a secret for the bench, of 32 bytes or more';
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** Header fields that node:http adds by itself. */
const ADDED = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

/** One answer: what the floor has to imitate. */
function answerOf(port, { path, headers }) {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers, agent: false }, (res) => {
      let bodyBytes = 0;
      res.on('data', (chunk) => {
        bodyBytes += chunk.length;
      });
      res.on('end', () => {
        const fields = [];
        for (let i = 0; i < res.rawHeaders.length; i += 2) {
          if (!ADDED.has(res.rawHeaders[i].toLowerCase()))
            fields.push(res.rawHeaders[i], res.rawHeaders[i + 1]);
        }
        resolve({
          status: res.statusCode,
          headers: fields,
          bodyBytes,
          total: Number(res.headers['x-total-count'] ?? 0),
        });
      });
      res.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

/** A constant answer of the mean length over some of the requests. */
async function floorOf(port, requests) {
  const step = Math.max(1, Math.floor(requests.length / 200));
  const answers = [];
  for (let i = 0; i < requests.length; i += step) answers.push(await answerOf(port, requests[i]));
  const bad = answers.find(({ status }) => status !== 200 && status !== 304);
  if (bad !== undefined) throw new Error(`a request of the bench was answered with ${bad.status}`);
  const bodyBytes = Math.round(answers.reduce((sum, answer) => sum + answer.bodyBytes, 0) / answers.length);
  const events = answers.reduce((sum, answer) => sum + answer.total, 0) / answers.length;
  const [{ status, headers }] = answers;
  const length = headers.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === 'content-length');
  if (length !== -1) headers[length + 1] = String(bodyBytes);
  return { answer: { status, headers, bodyBytes }, events };
}

const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-'));
const load = Program.start('./load.mjs');
try {
  const source = join(folder, 'events.ndjson');
  const { stdout } = await run(
    process.execPath,
    [join(ROOT, 'dist/cli.js'), 'generate', '--events', String(settings.events), '--seed', '1'],
    { maxBuffer: 2 ** 32, encoding: 'buffer' },
  );
  writeFileSync(source, stdout);
  const events = readFileSync(source, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const lectern = await startServer('./servers/lectern.mjs', source, SECRET);
  const rows = [];
  for (const workload of workloadsOf(events, {
    secret: SECRET,
    count: settings.requests,
    seed: settings.seed,
  })) {
    if (!workload.name.includes(given.only)) continue;
    let { requests } = workload;
    if (workload.expect304) {
      const { headers } = await answerOf(lectern.port, requests[0]);
      const etag = headers[headers.findIndex((field) => field.toLowerCase() === 'etag') + 1];
      requests = requests.map((each) => ({ ...each, headers: { ...each.headers, 'if-none-match': etag } }));
    }
    const { answer, events: meanEvents } = await floorOf(lectern.port, requests);
    const floor = await startServer('./servers/floor.mjs', JSON.stringify(answer));
    const options = {
      ...settings,
      connections: workload.connections ?? settings.connections,
      expect304: workload.expect304,
    };
    const [floorRuns, ownRuns] = await interleave(load, [floor, lectern], requests, options);
    await floor.program.end();
    const ratios = ownRuns.map((own, round) => own.cpuMicros / floorRuns[round].cpuMicros);
    const row = {
      workload: workload.name,
      events: meanEvents,
      bodyBytes: answer.bodyBytes,
      target: workload.target,
      ratio: median(ratios),
      ratioMin: Math.min(...ratios),
      ratioMax: Math.max(...ratios),
      floorMicros: median(floorRuns.map((each) => each.cpuMicros)),
      micros: median(ownRuns.map((each) => each.cpuMicros)),
      perSecond: median(ownRuns.map((each) => each.perSecond)),
      floorPerSecond: median(floorRuns.map((each) => each.perSecond)),
      latencyMs: Object.fromEntries(
        ['p50', 'p99', 'p999'].map((name) => [name, median(ownRuns.map((each) => each.latencyMs[name]))]),
      ),
    };
    rows.push(row);
    console.log(
      `${row.workload.padEnd(30)} ${row.ratio.toFixed(2)} (${row.ratioMin.toFixed(2)} to ${row.ratioMax.toFixed(2)}), at most ${row.target}; ` +
        `${row.micros.toFixed(1)} µs against ${row.floorMicros.toFixed(1)}; ${Math.round(row.perSecond)}/s against ${Math.round(row.floorPerSecond)}; ` +
        `p50 ${row.latencyMs.p50} p99 ${row.latencyMs.p99} p99.9 ${row.latencyMs.p999} ms; ${row.events.toFixed(1)} events, ${row.bodyBytes} bytes`,
    );
  }
  await lectern.program.end();
  if (given.json !== undefined) {
    const { stdout: commit } = await run('git', ['-C', ROOT, 'rev-parse', 'HEAD']).catch(() => ({
      stdout: '',
    }));
    const machine = {
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      node: process.version,
      commit: commit.trim(),
    };
    writeFileSync(given.json, `${JSON.stringify({ machine, settings, rows }, null, 2)}\n`);
  }
} finally {
  await load.end();
  rmSync(folder, { recursive: true, force: true });
}
