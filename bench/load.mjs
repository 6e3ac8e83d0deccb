/**
 * The load: autocannon in a process of its own. Messages: { requests } to be sent in turn, over all connections together, so
 * that none is repeated before all were sent; then { run: { port, durationSeconds, connections } }.
 */
import autocannon from 'autocannon';

let requests = [];
let next = 0;
process.on('message', async (message) => {
  if (message.requests !== undefined) {
    requests = message.requests;
    next = 0;
    process.send({ kind: 'taken' });
    return;
  }
  const { port, durationSeconds, connections } = message.run;
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    duration: durationSeconds,
    connections,
    requests: [
      {
        setupRequest: (request) => {
          const { path, headers } = requests[next++ % requests.length];
          return { ...request, path, headers: { ...request.headers, ...headers } };
        },
      },
    ],
  });
  process.send({
    kind: 'result',
    requests: result.requests.total,
    failed: result.non2xx - (message.run.expect304 ? result['3xx'] : 0) + result.errors + result.timeouts,
    perSecond: result.requests.average,
    bytes: result.throughput.total,
    latencyMs: { p50: result.latency.p50, p99: result.latency.p99, p999: result.latency.p99_9 },
  });
});
process.on('disconnect', () => process.exit());
