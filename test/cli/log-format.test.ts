/** The log for programs and for people. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { test } from 'tap';
import { prettyDestination } from '../../src/cli/log-output.js';
import { CLI, lectern, ROOT, start } from './lectern.js';

const DEMO = 'fixtures/demo.ndjson.gz';
const SECRET = 'this-is-a-secret-of-more-than-thirty-two-bytes';
const ENVIRONMENT = { LECTERN_HS256_SECRET: SECRET };
const NO_SCRIPT = spawnSync('script', ['--version']).error !== undefined && 'script is not installed';
const ESCAPE = String.fromCharCode(0x1b);
/** Control characters, including those that some terminals take for an escape and a bracket. */
const CONTROL = /(?!\n)\p{Cc}/u;

/** The pretty lines that a logger writes. */
async function pretty(isColoured: boolean, log: (logger: pino.Logger) => void): Promise<string> {
  let text = '';
  const output = {
    write: (line: string) => {
      text += line;
    },
    flushSync() {},
  };
  log(pino({ base: null }, await prettyDestination(output, isColoured)));
  return text;
}

test('a pretty line has the local time, the level, the message and the fields', async (t) => {
  const before = new Date();
  const text = await pretty(false, (log) => log.warn({ reason: 'it is late', count: 3 }, 'told'));
  const after = new Date();
  const clock = (date: Date): string => date.toTimeString().slice(0, 8);
  const lines = [before, after].map(
    (date) => `${clock(date)} WARN: told {"reason":"it is late","count":3}\n`,
  );
  t.ok(lines.includes(text), text);
  t.match(
    await pretty(false, (log) => log.error({ err: new Error('broken') }, 'failed')),
    /^[\d:]{8} ERROR: failed\s.*broken.*\n.*log-format\.test/s,
    'an error comes with its stack',
  );
});

test('colours appear only on request, and control characters never reach the terminal', async (t) => {
  t.match(await pretty(true, (log) => log.info({}, 'ready')), CONTROL);
  const evil = '\u001b]0;title\u0007\u009b31m';
  const text = await pretty(false, (log) => {
    log.info({ reason: evil, nested: { reason: evil } }, `said ${evil}`);
    log.error({ err: new Error(evil) }, 'failed');
  });
  t.notMatch(text, CONTROL);
  t.match(text, /said .*title/);
});

test('--log-format and LECTERN_LOG_FORMAT give pretty lines in production, without colours in a pipe', async (t) => {
  for (const [argv, env] of [
    [['--log-format', 'pretty'], {}],
    [[], { LECTERN_LOG_FORMAT: 'pretty' }],
  ] as const) {
    const { child, ended } = start(['serve', DEMO, '--port', '0', ...argv], { ...ENVIRONMENT, ...env });
    await new Promise((resolve) =>
      child.stderr?.on('data', (text) => /READY|ready/.test(text) && resolve(0)),
    );
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    t.equal(code, 0);
    t.match(stderr, /^\d\d:\d\d:\d\d INFO: ready \{"url":"http:.*"events":10000/m);
    t.match(stderr, /^\d\d:\d\d:\d\d INFO: closed *\n$/m, 'the last line, too');
    t.notMatch(stderr, CONTROL);
    t.notMatch(stderr, SECRET);
  }
});

test('the fatal record of a failed start is written in either format', async (t) => {
  const missing = ['serve', 'missing.ndjson', '--port', '0'];
  const lines = await lectern([...missing, '--log-format', 'pretty'], { env: ENVIRONMENT });
  t.match(lines, { code: 1, stderr: /^[\d:]{8} FATAL: cannot serve \{.*missing\.ndjson/m });
  const beganMs = Date.now();
  const records = await lectern(missing, { env: ENVIRONMENT });
  const last = JSON.parse(records.stderr.trim().split('\n').at(-1) ?? '');
  t.match(last, { level: 60, msg: 'cannot serve', reason: /missing\.ndjson/ }, 'levels are numbers');
  t.ok(last.time >= beganMs && last.time <= Date.now(), 'times are epoch milliseconds');
});

test('JSON logs do not load the pretty formatter', (t) => {
  const folder = t.testdir({
    'loaded.cjs': `process.on('exit', () => {
      const loaded = Object.keys(require('node:module')._cache).some((path) => path.includes('pino-pretty'));
      process.stdout.write('pino-pretty: ' + loaded);
    });`,
  });
  const serve = (format: string): string => {
    const argv = ['--require', join(folder, 'loaded.cjs'), ...CLI, 'serve', 'missing.ndjson', '--port', '0'];
    const env = { ...process.env, ...ENVIRONMENT };
    return spawnSync(process.execPath, [...argv, '--log-format', format], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    }).stdout;
  };
  t.match(serve('json'), /pino-pretty: false/);
  t.match(serve('pretty'), /pino-pretty: true/);
  t.end();
});

/** The output on a terminal of a service in development, until Ctrl-C. */
async function shown(argv: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const serve = [process.execPath, ...CLI, 'serve', DEMO, '--dev --port 0 --log-level info', argv].join(' ');
  const terminal = spawn('script', ['-qec', `timeout --foreground -s KILL 60 ${serve}`, '/dev/null'], {
    cwd: ROOT,
    env: {
      ...process.env,
      TERM: 'xterm-256color',
      NO_COLOR: undefined,
      FORCE_COLOR: undefined,
      CI: undefined,
      ...env,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let text = '';
  terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (!text.includes('Documentation:') && `${text}${chunk}`.includes('Documentation:')) {
      terminal.stdin.write('\u0003');
    }
    text += chunk;
  });
  await once(terminal, 'close');
  return text;
}

test('development on a terminal has pretty lines with colours', { skip: NO_SCRIPT }, async (t) => {
  const coloured = await shown('');
  t.match(coloured, `${ESCAPE}[32mINFO${ESCAPE}[39m: ${ESCAPE}[36mlistening`);
  t.match(await shown('', { NO_COLOR: '1' }), /^[\d:]{8} INFO: listening/m);
  t.match(await shown('--log-format json'), /^\{"level":30,"time":\d{13},.*"msg":"listening"\}/m);
});
