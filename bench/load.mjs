/**
 * The load, in a separate process. Messages: { requests, as } stores requests to be sent in turn over all
 * connections together, so that each is sent once before any repeats; { forget: true } forgets them all; { run: { as,
 * port, amount, connections, expect304, rate } } sends `amount` of them: by autocannon, which sends the next request
 * when the last one is answered, or at a fixed rate. The run has no time limit: it would cut off requests in progress,
 * although the server would have worked on them.
 */
import { createHistogram } from 'node:perf_hooks';
import autocannon from 'autocannon';
import { sendAtRate } from './open-loop.mjs';

/** Percentiles of the reported latencies. */
const PERCENTILES = [10, 25, 50, 75, 90, 95, 99, 99.9, 100];
/** The interval at which autocannon checks whether all requests are done. */
const SAMPLE_MS = 20;
const TIMEOUT_SECONDS = 60;

const known = new Map();

/** Sends the next request of each connection after its last answer. @returns {Promise<number>} seconds */
async function sendInTurn({ port, amount, connections }, next, onAnswer) {
  const began = performance.now();
  let ended = began;
  const setupRequest = (request) => {
    const { path, headers } = next();
    return { ...request, path, headers: { ...request.headers, ...headers } };
  };
  const options = {
    url: `http://127.0.0.1:${port}`,
    amount,
    connections,
    sampleInt: SAMPLE_MS,
    timeout: TIMEOUT_SECONDS,
    requests: [{ setupRequest }],
  };
  const { errors, timeouts } = await new Promise((resolve, reject) => {
    const instance = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)));
    instance.on('response', (_client, status, _bytes, latencyMs) => {
      ended = performance.now();
      onAnswer(status, latencyMs);
    });
  });
  if (errors + timeouts > 0) throw new Error(`${errors} connections failed, ${timeouts} requests timed out`);
  return (ended - began) / 1000;
}

async function run({ as, expect304, ...sending }) {
  const list = known.get(as);
  const latencies = createHistogram();
  const { amount, rate } = sending;
  let good = 0;
  const next = () => list.requests[list.next++ % list.requests.length];
  const onAnswer = (status, latencyMs) => {
    if (expect304 ? status === 304 : status === 200) good++;
    latencies.record(Math.max(1, Math.round(latencyMs * 1000)));
  };
  const seconds = await (rate === undefined ? sendInTurn : sendAtRate)(sending, next, onAnswer);
  process.send({
    kind: 'result',
    requests: amount,
    failed: amount - good,
    seconds,
    perSecond: amount / seconds,
    latencyMs: Object.fromEntries(PERCENTILES.map((p) => [`p${p}`, latencies.percentile(p) / 1000])),
  });
}

process.on('message', (message) => {
  if (message.run !== undefined) {
    run(message.run);
    return;
  }
  if (message.forget) known.clear();
  else known.set(message.as, { requests: message.requests, next: 0 });
  process.send({ kind: 'taken' });
});
process.on('disconnect', () => process.exit());
