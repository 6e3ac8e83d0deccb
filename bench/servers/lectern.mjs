/** Lectern as it is shipped. Arguments: source file, secret. */
import { startService } from '../../dist/service.js';
import { answerUsage } from './measured.mjs';

const [source, hs256Secret] = process.argv.slice(2);
const service = await startService({ source, hs256Secret, mode: 'production', port: 0, watch: false });
await service.ready;
process.send({ kind: 'ready', port: Number(new URL(service.baseUrl).port) });
answerUsage();
