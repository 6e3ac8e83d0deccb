import type { RequestHandler } from '../http/handler.js';
import { createHttpServer } from '../http/server.js';
import { ANSWER_CACHE_SHARE } from '../limits.js';
import { handlerOfPlan } from './handler-plan.js';
import { ThreadPool } from './pool.js';
import type { Serving, ServingOptions } from './serving.js';

/**
 * Takes the port, for this thread or for several. Resolves when it is theirs, which is at once; threads take a moment longer
 * to start.
 *
 * @throws LecternError `address-unavailable`
 */
export async function openServing(options: ServingOptions): Promise<Serving> {
  return options.workers === 1 ? serveHere(options) : ThreadPool.open(options);
}

async function serveHere({ plan, host, port, cacheBytesMax, log }: ServingOptions): Promise<Serving> {
  let handler: RequestHandler;
  const server = createHttpServer((req, res) => handler(req, res));
  const address = await server.listen({ host, port });
  return {
    address,
    workers: 1,
    started: Promise.resolve(),
    follower: null,
    answerFrom(views) {
      handler = handlerOfPlan(plan, views, { log, cacheBytesMax: cacheBytesMax * ANSWER_CACHE_SHARE });
    },
    close: (options) => server.close(options),
  };
}
