import { test } from 'tap';
import { lectern } from './lectern.js';

// It starts several processes.
const DEMO = 'fixtures/demo.ndjson.gz';

test('production logs every fault of the settings as a record', async (t) => {
  const cases: readonly (readonly [argv: readonly string[], reason: RegExp])[] = [
    [['--port', '65536'], /^--port \(LECTERN_PORT\) is 65536: it must be a whole number from 0 to 65535$/],
    [['--log-level', 'loud'], /is "loud": it must be fatal, /],
    [
      ['--publisher-public-key', 'publisher.pub'],
      /^--publisher-public-key has no effect, as the source is not a store/,
    ],
  ];
  for (const [argv, reason] of cases) {
    const { code, stderr } = await lectern(['serve', DEMO, ...argv]);
    t.equal(code, 2, argv.join(' '));
    const record = { level: 60, code: 'option-invalid', msg: 'cannot serve', reason };
    t.match(JSON.parse(stderr), record, argv.join(' '));
  }
});

test('a failed start ends with a fatal record, with the level and the time as numbers', async (t) => {
  const beganMs = Date.now();
  const { code, stderr } = await lectern(['serve', 'missing.ndjson', '--port', '0'], {
    env: { LECTERN_HS256_SECRET: 'this-is-a-secret-of-more-than-thirty-two-bytes' },
  });
  t.equal(code, 1);
  const last = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  t.match(last, { level: 60, msg: 'cannot serve', reason: /missing\.ndjson/ });
  t.ok(last.time >= beganMs && last.time <= Date.now(), 'epoch milliseconds');
});
