/**
 * The common part of all measured servers: it reports its port, answers `usage` with the processor time used
 * so far, and ends when its parent ends.
 *
 * @param {import('node:http').Server} server not listening yet
 */
export function underMeasurement(server) {
  server.listen(0, '127.0.0.1', () => process.send({ kind: 'ready', port: server.address().port }));
  answerUsage();
}

/**
 * @param {() => { userMicros: number, systemMicros: number, rssBytes: number }} [others] usage of other
 * processes of the server
 */
export function answerUsage(others = () => ({ userMicros: 0, systemMicros: 0, rssBytes: 0 })) {
  /** Processor time of the measurement itself, which is excluded. */
  const looking = { user: 0, system: 0 };
  process.on('message', (message) => {
    if (message !== 'usage') return;
    const before = process.cpuUsage();
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
    const rest = others();
    const userMicros = before.user - looking.user + rest.userMicros;
    const systemMicros = before.system - looking.system + rest.systemMicros;
    const { user, system } = process.cpuUsage(before);
    looking.user += user;
    looking.system += system;
    process.send({
      kind: 'usage',
      userMicros,
      systemMicros,
      cpuMicros: userMicros + systemMicros,
      rssBytes: rss + rest.rssBytes,
      heapUsedBytes: heapUsed,
      heapTotalBytes: heapTotal,
      externalBytes: external,
    });
  });
  // The server that started PostgreSQL ends it first.
  if (process.listenerCount('disconnect') === 0) process.on('disconnect', () => process.exit());
}
