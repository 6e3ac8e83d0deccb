/** Room serving/. Serving on one thread or several. It hands publications to threads and knows no source. */
import { RemoteKeys } from '../auth/remote-keys.js';
import type { LoneRequestHandler, RequestHandler } from '../http/handler.js';
import { checkInnerParts } from '../http/node/inner-parts.js';
import { HttpServer } from '../http/server/server.js';
import { ANSWER_CACHE_SHARE } from '../limits.js';
import { Meter } from '../metrics/meter.js';
import { startSampling } from '../metrics/sampling.js';
import { monotonicMs } from '../model/clock.js';
import { conditionOf, logOverload, warnOfInnerParts } from './condition.js';
import { handlerOfPlan } from './handler-plan.js';
import { meterRows } from './meter-rows.js';
import { ThreadPool } from './pool.js';
import type { FedServingOptions, Serving, ServingOptions } from './serving.js';

/**
 * Takes the port, for this thread or for several. Resolves when it is theirs, which is at once; threads take a moment longer
 * to start.
 *
 * @throws LecternError `address-unavailable`
 */
export async function openServing(options: ServingOptions): Promise<Serving> {
  const { plan, workers, log } = options;
  warnOfInnerParts(await checkInnerParts(), log);
  const { remoteKeys } = plan.auth;
  // One for all threads, so that the issuer is not asked more often for there being many.
  const keys = remoteKeys === null ? null : new RemoteKeys(remoteKeys, { log });
  const hasOtherKeys = plan.auth.hs256Secret !== undefined || plan.development !== null;
  const fed: FedServingOptions = {
    ...options,
    feed: keys,
    hasKeys: () => keys === null || hasOtherKeys || monotonicMs() < keys.state.usableUntilMs,
    keyFetches: keys,
    onClose: () => keys?.close(),
  };
  try {
    return workers === 1 ? await serveHere(fed) : await ThreadPool.open(fed);
  } catch (error) {
    keys?.close();
    throw error;
  }
}

async function serveHere(options: FedServingOptions): Promise<Serving> {
  const {
    plan,
    host,
    port,
    connectionsMax,
    overloadMs,
    cacheBytesMax,
    isMetered,
    log,
    feed,
    hasKeys,
    keyFetches,
    onClose,
  } = options;
  const meter = isMetered ? new Meter() : null;
  let handler: LoneRequestHandler;
  let isDraining = false;
  const present: LoneRequestHandler = Object.assign<RequestHandler, Pick<LoneRequestHandler, 'lone'>>(
    (req, res) => handler(req, res),
    { lone: (request) => handler.lone(request) },
  );
  const server = new HttpServer(present, {
    connectionsMax,
    overloadMs,
    onOverload: (isOverloaded) => logOverload(log, isOverloaded, server.load.refused),
    corsOrigins: plan.corsOrigins,
    meter,
  });
  const address = await server.listen({ host, port });
  const stopSampling = meter === null ? () => {} : startSampling(meter);
  return {
    address,
    workers: 1,
    meters: meter === null ? [] : [{ thread: 'main', meter }],
    isServing: true,
    get hasKeys() {
      return hasKeys();
    },
    keyFetches,
    started: Promise.resolve(),
    follower: null,
    answerFrom(views) {
      handler = handlerOfPlan(plan, views, {
        log,
        feed,
        meter,
        onRefusal: () => server.countRefusal(),
        cacheBytesMax: cacheBytesMax * ANSWER_CACHE_SHARE,
      });
      if (meter !== null) meterRows(meter, views);
    },
    get condition() {
      return conditionOf(isDraining, [server.load]);
    },
    drain() {
      isDraining = true;
      server.drain();
    },
    close: (options) =>
      server.close(options).finally(() => {
        stopSampling();
        onClose();
      }),
  };
}
