/**
 * What every server under measurement has in common: it tells its port, then answers `usage` with the processor time it
 * has used so far, and ends when its parent does.
 *
 * @param {import('node:http').Server} server not listening yet
 */
export function underMeasurement(server) {
  server.listen(0, '127.0.0.1', () => process.send({ kind: 'ready', port: server.address().port }));
  answerUsage();
}

export function answerUsage() {
  process.on('message', (message) => {
    if (message !== 'usage') return;
    const { user, system } = process.cpuUsage();
    process.send({ kind: 'usage', cpuMicros: user + system, rssBytes: process.memoryUsage.rss() });
  });
  process.on('disconnect', () => process.exit());
}
