/**
 * Measures servers against each other. The same rule decides how long each server is warmed up. Each round
 * then has every server once, so that other work on the machine affects all of them.
 */

/** The largest growth of the number of requests while the rate is unknown. */
const GROWTH_MAX = 10;

/**
 * A server that is measured.
 *
 * @typedef {object} Contestant @property {string} name @property {{ port: number, program:
 * import('./measure.mjs').Program }} server @property {string} as the name of its requests in the load
 * @property {number} connections @property {boolean}
 * [expect304] @property {number} [rate] requests a second, each at its own instant; without, each connection sends its
 * next request after the last answer
 */

/** Processor time of the server per request, in microseconds, over `amount` requests. */
export async function runOnce(load, { name, server, as, connections, expect304, rate }, amount) {
  const before = await server.program.ask('usage', 'usage');
  const result = await load.ask(
    { run: { as, port: server.port, amount, connections, expect304: expect304 ?? false, rate } },
    'result',
  );
  const after = await server.program.ask('usage', 'usage');
  if (result.failed > 0) throw new Error(`${name}: ${result.failed} of ${result.requests} requests failed`);
  const perRequest = (field) => (after[field] - before[field]) / result.requests;
  return {
    ...result,
    userMicros: perRequest('userMicros'),
    systemMicros: perRequest('systemMicros'),
    cpuMicros: perRequest('cpuMicros'),
  };
}

/**
 * Loads the server until two slices in a row cost about the same per request.
 *
 * @param {{ sliceSeconds: number, slicesMin: number, slicesMax: number, requestsMin: number, differenceMax:
 * number }} rule the least numbers of slices and requests, and the largest number of slices
 * @returns {Promise<{ slices: number, perSecond: number }>}
 */
async function warmUp(load, contestant, rule) {
  const { sliceSeconds, slicesMin, slicesMax, requestsMin, differenceMax } = rule;
  let amount = contestant.connections;
  let slices = 0;
  let seconds = 0;
  let requests = 0;
  let previous;
  for (;;) {
    const slice = await runOnce(load, contestant, amount);
    seconds += slice.seconds;
    requests += amount;
    const isWhole = slice.seconds > sliceSeconds / 2;
    if (isWhole) {
      slices++;
      const isSteady = previous !== undefined && Math.abs(slice.cpuMicros / previous - 1) < differenceMax;
      previous = slice.cpuMicros;
      if (
        (isSteady && slices >= slicesMin && requests >= requestsMin) ||
        seconds > (slicesMax - 0.5) * sliceSeconds
      ) {
        return { slices, perSecond: slice.perSecond };
      }
    }
    amount = amountFor(contestant, Math.min(slice.perSecond * sliceSeconds, amount * GROWTH_MAX));
  }
}

function amountFor({ connections }, requests) {
  return Math.max(connections, Math.round(requests));
}

/**
 * @param {import('./measure.mjs').Program} load which already has the requests
 * @param {Contestant[]} contestants
 * @param {{ rounds: number, roundSeconds: number, warmUp: object }} settings
 * @returns for each contestant { name, connections, warmUpSlices, rounds }
 */
export async function interleave(load, contestants, settings) {
  const all = [];
  for (const contestant of contestants) {
    const inTurn = { ...contestant, rate: undefined };
    const { slices, perSecond } = await warmUp(load, inTurn, settings.warmUp);
    const speed = Number.isFinite(contestant.rate) ? contestant.rate : perSecond;
    const amount = amountFor(contestant, speed * settings.roundSeconds);
    all.push({ contestant, amount, warmUpSlices: slices, rounds: [] });
  }
  for (let round = 0; round < settings.rounds; round++) {
    // Forward and backward order, so that a steady trend favours no server.
    const order = round % 2 === 0 ? all : all.toReversed();
    for (const { contestant, amount, rounds } of order) rounds.push(await runOnce(load, contestant, amount));
  }
  return all.map(({ contestant: { name, connections }, warmUpSlices, rounds }) => ({
    name,
    connections,
    warmUpSlices,
    rounds,
  }));
}
