/** Room admin/. The second port for operators: probes, metrics, readiness. It reads counts and never the events. */
import type { ListenAddress } from '../http/server/listen-address.js';
import { HttpServer } from '../http/server/server.js';
import { ADMIN_CONNECTIONS_MAX } from '../limits.js';
import { Meter } from '../metrics/meter.js';
import { startSampling } from '../metrics/sampling.js';
import { type AdminHandlerOptions, createAdminHandler } from './admin-handler.js';
import { Exposition } from './exposition.js';

export interface AdminOptions extends AdminHandlerOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Whether `serve()` is being closed. */
  readonly isClosing: () => boolean;
}

/** A port for those who operate the service. */
export interface Admin {
  readonly address: ListenAddress;
  /** To be called when everything else is closed: until then /ready says what is going on. */
  close(): Promise<void>;
}

/** Longest wait for answers under way. */
const CLOSE_DEADLINE_MS = 1000;

/**
 * Listens on this thread, with a server of its own: the same limits of time and size as that of the timetable, few connections.
 *
 * @throws LecternError `address-unavailable`
 */
export async function openAdmin(options: AdminOptions): Promise<Admin> {
  const { host, port, serving } = options;
  const here = serving.meters.some(({ thread }) => thread === 'main') ? null : new Meter();
  const reasons = () => unreadyReasons(options);
  const more = here === null ? [] : [{ thread: 'main', meter: here }];
  const exposition = new Exposition(options, more, () => reasons().length === 0);
  const server = new HttpServer(createAdminHandler(options, exposition, reasons), {
    connectionsMax: ADMIN_CONNECTIONS_MAX,
    // Clients that stay connected must not keep probes out.
    whenFull: 'close-idle',
    // Probes are answered during an overload, too.
    overloadMs: 0,
  });
  const address = await server.listen({ host, port });
  const stopSampling = here === null ? () => {} : startSampling(here);
  return {
    address,
    async close() {
      stopSampling();
      await server.close({ deadlineMs: CLOSE_DEADLINE_MS });
    },
  };
}

/** Why the service should get no requests at the moment, as /ready says it. Empty where it is ready. */
function unreadyReasons({ timetable, serving, isClosing }: AdminOptions): readonly string[] {
  const { summary, view } = timetable;
  const { condition, hasKeys, isServing } = serving;
  const reasons = {
    'no-snapshot': summary === null,
    'snapshot-stale': summary !== null && view === null,
    'no-keys': !hasKeys,
    draining: isClosing() || condition.isDraining,
    overloaded: condition.isOverloaded,
    // The threads are starting, or were lost.
    'no-thread': summary !== null && !isServing,
  };
  return Object.entries(reasons).flatMap(([reason, holds]) => (holds ? [reason] : []));
}
