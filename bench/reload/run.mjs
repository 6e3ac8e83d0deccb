/**
 * The cost of a reload for clients, and the time until a restarted service answers.
 *
 *     npm run build && node bench/reload/run.mjs [--events 1000000] [--runs 3] [--only stall,warm,memory] [--json <file>]
 *
 * Every measurement has its own process on the built package. Figures are medians, with the smallest and the
 * largest in parentheses.
 */
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  createReadStream,
  createWriteStream,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { generateFile } from '../generate.mjs';
import { readOptions } from '../options.mjs';

const HELP = `npm run bench:reload -- [options]

  --events <n>    events of the generated set, 1,000,000 by default
  --runs <n>      runs of each measurement, 3 by default
  --only <names>  measurements, separated by commas: stall, warm, memory; all by default
  --json <file>   file for the results
`;
const settings = readOptions(HELP, {
  events: { type: 'string', default: '1000000' },
  runs: { type: 'string', default: '3' },
  only: { type: 'string', default: 'stall,warm,memory' },
  json: { type: 'string' },
});
const events = Number(settings.events);
const runs = Number(settings.runs);
const only = new Set(settings.only.split(','));
const folder = mkdtempSync(join(tmpdir(), 'lectern-reload-'));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const at = (name) => join(folder, name);

/** Runs a script to its end and returns its JSON output. */
async function measure(script, ...args) {
  const child = spawn(process.execPath, [here(script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`${script} ended with ${code}`);
  return JSON.parse(output);
}

const generate = (name, options) => generateFile(at(name), { events, seed: 7, ...options });

/** Copies the lines of a file that `keeps` accepts, and adds one event. */
async function vary(from, to, keeps) {
  const output = createWriteStream(at(to));
  let piece = '';
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(at(from)) })) {
    if (keeps(number++)) piece += `${line}\n`;
    if (piece.length < 1 << 20) continue;
    if (!output.write(piece)) await new Promise((resolve) => output.once('drain', resolve));
    piece = '';
  }
  const added = {
    id: '00000000-0000-4000-8000-000000000001',
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T09:00:00Z',
  };
  output.end(`${piece}${JSON.stringify(added)}\n`);
  await finished(output);
}

const addOne = (from, to) => vary(from, to, () => true);
const copy = (from, to) => copyFileSync(at(from), at(to));

/** Median, smallest and largest. */
function spread(values) {
  const ascending = [...values].sort((a, b) => a - b);
  return { median: ascending[ascending.length >> 1], min: ascending[0], max: ascending.at(-1) };
}

function inColumns(label, values, unit, target = '') {
  const { median, min, max } = spread(values);
  const text = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2));
  const figure = `${text(median)} ${unit}`.padStart(12);
  process.stdout.write(
    `${label.padEnd(58)}${figure}  (${text(min)} to ${text(max)})${target === '' ? '' : `  target ${target}`}\n`,
  );
  return { label, unit, median, min, max, values };
}

async function times(work) {
  const results = [];
  for (let run = 0; run < runs; run++) results.push(await work());
  return results;
}

async function measureStalls() {
  const rows = [];
  const cases = [
    ['one event added', 'plain.ndjson', 'one.ndjson'],
    ['a tenth removed', 'plain.ndjson', 'tenth.ndjson'],
    ['every event a slot of its own, one added', 'distinct.ndjson', 'distinct-one.ndjson'],
  ];
  await vary('plain.ndjson', 'tenth.ndjson', (line) => line % 10 !== 0);
  await generate('distinct.ndjson', { distinctSlots: true });
  await addOne('distinct.ndjson', 'distinct-one.ndjson');
  const report = (name, results) => {
    rows.push(
      inColumns(
        `${name}: longest stall`,
        results.map((r) => r.longestMs),
        'ms',
        '25 ms',
      ),
      inColumns(
        '  without the wait for a processor',
        results.map((r) => r.ownLongestMs),
        'ms',
      ),
      // The rest of a stall comes from the machine: the host may stop a virtual machine as a whole.
      inColumns(
        '  most that the thread itself ran in one turn',
        results.map((r) => r.ranLongestMs),
        'ms',
        '25 ms',
      ),
      inColumns(
        '  as monitorEventLoopDelay sees it',
        results.map((r) => r.histogramMaxMs),
        'ms',
      ),
      inColumns(
        '  99.9 % of all turns take less than',
        results.map((r) => r.p999Ms),
        'ms',
      ),
      inColumns(
        '  longest garbage collection',
        results.map((r) => r.collectionLongestMs),
        'ms',
      ),
      inColumns(
        '  failed reads',
        results.map((r) => r.failures),
        '',
        '0',
      ),
    );
  };
  let seconds = 10;
  for (const [name, file, replacement] of cases) {
    const results = await times(async () => {
      copy(file, 'served.ndjson');
      rmSync(at('image'), { force: true });
      return measure('stall.mjs', at('served.ndjson'), at(replacement), at('image'));
    });
    seconds = Math.ceil(spread(results.map((r) => r.loadMs)).median / 1000);
    report(`rebuild, ${name}`, results);
  }
  const idle = await times(async () => {
    copy('plain.ndjson', 'served.ndjson');
    rmSync(at('image'), { force: true });
    return measure('stall.mjs', at('served.ndjson'), '-', at('image'), String(seconds));
  });
  report('no rebuild, nothing else', idle);
  const controls = await times(async () => {
    copy('plain.ndjson', 'served.ndjson');
    rmSync(at('image'), { force: true });
    const burner = spawn(process.execPath, ['-e', 'for (;;) Math.random()'], { stdio: 'ignore' });
    try {
      return await measure('stall.mjs', at('served.ndjson'), '-', at('image'), String(seconds));
    } finally {
      burner.kill('SIGKILL');
    }
  });
  report('no rebuild, another process burns a core', controls);
  return rows;
}

async function startWarm() {
  const beganMs = performance.now();
  const child = spawn(process.execPath, [here('warm-start.mjs'), at('served.ndjson'), at('image')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = await createInterface({ input: child.stdout })
      [Symbol.asyncIterator]()
      .next()
      .then(({ value }) => [value]);
    const { port, readyMs, origin } = JSON.parse(line);
    if (origin !== 'disk') throw new Error('the snapshot file was not used');
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/schedule?limit=10`);
    const body = await answer.json();
    if (answer.status !== 200 || body.length !== 10) throw new Error('the answer is wrong');
    return { firstAnswerMs: performance.now() - beganMs, readyMs };
  } finally {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.on('close', resolve));
  }
}

async function measureWarmStarts() {
  rmSync(at('image'), { force: true });
  copy('plain.ndjson', 'served.ndjson');
  await measure('memory.mjs', at('served.ndjson'), at('image'));
  const results = await times(startWarm);
  return [
    inColumns(
      'warm start: openTimetable until ready',
      results.map((r) => r.readyMs),
      'ms',
      '1000 ms',
    ),
    inColumns(
      'warm start: process start until first answer',
      results.map((r) => r.firstAnswerMs),
      'ms',
      '1000 ms',
    ),
  ];
}

async function measureMemory() {
  await generate('other.ndjson', { seed: 8 });
  const results = await times(async () => {
    copy('plain.ndjson', 'served.ndjson');
    rmSync(at('image'), { force: true });
    const replacements = ['one.ndjson', 'other.ndjson', 'plain.ndjson'].map(at);
    return measure('memory.mjs', at('served.ndjson'), at('image'), ...replacements);
  });
  const mib = 1024 * 1024;
  return [
    inColumns(
      'memory: snapshot',
      results.map((r) => r.imageBytes / mib),
      'MiB',
    ),
    inColumns(
      'memory: process, steady',
      results.map((r) => r.steadyBytes / mib),
      'MiB',
    ),
    inColumns(
      'memory: peak of the first load',
      results.map((r) => r.firstPeakBytes / r.steadyBytes),
      'x',
    ),
    ...['one event added', 'every event another', 'every event another again'].map((name, n) =>
      inColumns(
        `memory: peak of a reload, ${name}`,
        results.map((r) => r.reloads[n].peakBytes / r.steadyBytes),
        'x',
        '2.3 x',
      ),
    ),
    inColumns(
      'memory: steady after three reloads',
      results.map((r) => r.reloads.at(-1).afterBytes / r.steadyBytes),
      'x',
    ),
  ];
}

try {
  process.stdout.write(`${events} events, ${runs} runs, Node ${process.version}, ${cpus().length} cores\n`);
  process.stdout.write(
    `load before: ${loadavg()
      .map((n) => n.toFixed(2))
      .join(' ')}\n`,
  );
  await generate('plain.ndjson');
  await addOne('plain.ndjson', 'one.ndjson');
  const rows = [];
  if (only.has('stall')) rows.push(...(await measureStalls()));
  if (only.has('warm')) rows.push(...(await measureWarmStarts()));
  if (only.has('memory')) rows.push(...(await measureMemory()));
  const report = { events, runs, node: process.version, cores: cpus().length, load: loadavg(), rows };
  if (settings.json !== undefined) writeFileSync(settings.json, `${JSON.stringify(report, null, 2)}\n`);
  else process.stdout.write(`${JSON.stringify(report)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
