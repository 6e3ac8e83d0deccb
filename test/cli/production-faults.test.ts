import tap, { test } from 'tap';
import { lectern } from './lectern.js';

// It starts several processes.
tap.setTimeout(120_000);

const DEMO = 'fixtures/demo.ndjson.gz';

test('production logs every fault of the settings as a record', async (t) => {
  const cases: readonly (readonly [argv: readonly string[], reason: RegExp])[] = [
    [['--port', '65536'], /^--port \(LECTERN_PORT\) is 65536: it must be a whole number from 0 to 65535$/],
    [['--mode', 'test'], /is "test": it must be production or development$/],
    [['--log-level', 'loud'], /is "loud": it must be fatal, /],
    [['--log-format', 'xml'], /is "xml": it must be json or pretty$/],
    [['--canary'], /^--canary has no effect, as the source is not a store/],
  ];
  for (const [argv, reason] of cases) {
    const { code, stderr } = await lectern(['serve', DEMO, ...argv]);
    t.equal(code, 2, argv.join(' '));
    const record = { level: 60, code: 'option-invalid', msg: 'cannot serve', reason };
    t.match(JSON.parse(stderr), record, argv.join(' '));
  }
});
