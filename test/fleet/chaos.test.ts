import { test } from 'tap';
import { NATS_MISSING } from '../store/nats-server.js';
import { runChaos } from './chaos/run-chaos.js';

// `npm run test:hard -- hard/replicas` has the others.
const ONLY = [
  'server killed',
  'publisher killed',
  'replica killed',
  'buckets deleted',
  'half of the events, forced',
];

test('a fleet of processes survives five failures', { skip: NATS_MISSING }, async (t) => {
  await runChaos(t, { cycles: ONLY.length, seed: 20261123, only: ONLY });
});
