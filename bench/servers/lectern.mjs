/** Lectern as it is shipped. Arguments: source file, secret; for caches of another size, that in MiB. */
import { startService } from '../../dist/service.js';
import { answerUsage } from './measured.mjs';

const [source, hs256Secret, cacheMb] = process.argv.slice(2);
const service = await startService({
  source,
  hs256Secret,
  mode: 'production',
  port: 0,
  watch: false,
  ...(cacheMb === undefined ? {} : { cacheMb: Number(cacheMb) }),
});
await service.ready;
process.send({ kind: 'ready', port: Number(new URL(service.baseUrl).port) });
answerUsage();
