/**
 * Lectern as it is shipped. Arguments: source file, secret; options cacheMb and workers as JSON if they
 * differ from the defaults.
 */
import { startService } from '../../dist/app/service.js';
import { answerUsage } from './measured.mjs';

const [source, hs256Secret, options = '{}'] = process.argv.slice(2);
const service = await startService({
  source,
  hs256Secret,
  // The workloads sign addresses with the secret of tokens, which is refused as the present secret of feeds.
  feedSecret: `for feeds: ${hs256Secret}\n${hs256Secret}`,
  dev: false,
  port: 0,
  watch: false,
  // Overload is detected as usual, but other work on the machine must not cause refusals.
  overloadMs: 10_000,
  ...JSON.parse(options),
});
await service.ready;
process.send({ kind: 'ready', port: Number(new URL(service.baseUrl).port) });
answerUsage();
