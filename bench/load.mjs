/**
 * The load: autocannon in a separate process. Messages: { requests, as } stores requests to be sent in turn over all
 * connections together, so that each is sent once before any repeats; { forget: true } forgets them all; { run: { as,
 * port, amount, connections, expect304 } } sends `amount` of them. The run has no time limit: it would cut off
 * requests in progress, although the server would have worked on them.
 */
import { createHistogram } from 'node:perf_hooks';
import autocannon from 'autocannon';

/** Percentiles of the reported latencies. */
const PERCENTILES = [10, 25, 50, 75, 90, 95, 99, 99.9, 100];
/** The interval at which autocannon checks whether all requests are done. */
const SAMPLE_MS = 20;
const TIMEOUT_SECONDS = 60;

const known = new Map();

async function run({ as, port, amount, connections, expect304 }) {
  const list = known.get(as);
  const latencies = createHistogram();
  const began = performance.now();
  let ended = began;
  const options = {
    url: `http://127.0.0.1:${port}`,
    amount,
    connections,
    sampleInt: SAMPLE_MS,
    timeout: TIMEOUT_SECONDS,
    requests: [
      {
        setupRequest: (request) => {
          const { path, headers } = list.requests[list.next++ % list.requests.length];
          return { ...request, path, headers: { ...request.headers, ...headers } };
        },
      },
    ],
  };
  const result = await new Promise((resolve, reject) => {
    const instance = autocannon(options, (error, done) => (error ? reject(error) : resolve(done)));
    instance.on('response', (_client, _status, _bytes, latencyMs) => {
      ended = performance.now();
      latencies.record(Math.max(1, Math.round(latencyMs * 1000)));
    });
  });
  const seconds = (ended - began) / 1000;
  const good = expect304 ? result['3xx'] : result['2xx'];
  process.send({
    kind: 'result',
    requests: amount,
    failed: amount - good + result.errors + result.timeouts,
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
