/**
 * Folder serving/. Serving on one thread or several. This folder passes publications to threads and knows no
 * source.
 */
import { checkInnerParts, tellMissingInnerParts } from '../http/node/inner-parts.js';
import { Meter } from '../metrics/meter.js';
import { startSampling } from '../metrics/sampling.js';
import { openDoor } from './door.js';
import { ThreadPool } from './pool.js';
import { serverOfPlan } from './server-plan.js';
import { conditionOf, type Serving, ServingKeys, type ServingOptions } from './serving.js';

/**
 * Takes the port; the serving threads start a moment later. Throws `address-unavailable`, `option-invalid`,
 * `key-invalid`.
 */
export async function openServing(options: ServingOptions): Promise<Serving> {
  const { settings, log } = options;
  await checkInnerParts();
  if (log !== undefined) tellMissingInnerParts(log);
  const keys = new ServingKeys(settings, options.access, log);
  try {
    return settings.workers === 1
      ? await serveHere(options, keys)
      : new ThreadPool(options, keys, await openDoor(settings));
  } catch (error) {
    keys.fetched?.close();
    throw error;
  }
}

async function serveHere(options: ServingOptions, keys: ServingKeys): Promise<Serving> {
  const { settings, views, access, isMetered, log } = options;
  const meter = isMetered ? new Meter() : null;
  const server = serverOfPlan(settings, views, { log, feed: keys.fetched, access, meter });
  const address = await server.listen({ host: settings.host, port: settings.port });
  const stopSampling = meter === null ? () => {} : startSampling(meter);
  let isDraining = false;
  return {
    address,
    workers: 1,
    keys,
    meters: meter === null ? [] : [{ thread: 'main', meter }],
    isServing: true,
    follower: null,
    started: Promise.resolve(),
    get condition() {
      return conditionOf(isDraining, [server.load]);
    },
    drain() {
      isDraining = true;
      server.drain();
    },
    async close(closing) {
      try {
        await server.close(closing);
      } finally {
        stopSampling();
        keys.fetched?.close();
      }
    },
  };
}
