/**
 * Room admin/. The second port for operators: probes, metrics, readiness. It reads counts and never the events.
 */
import type { Logger } from '../http/logger.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import { HttpServer } from '../http/server/server.js';
import { ADMIN_CONNECTIONS_MAX } from '../limits.js';
import { Meter } from '../metrics/meter.js';
import { startSampling } from '../metrics/sampling.js';
import type { LoadOutcome } from '../refresh/keeper.js';
import type { Serving } from '../serving/serving.js';
import type { ViewSource } from '../view/view-source.js';
import type { Activity } from './activity.js';
import { createAdminHandler } from './admin-handler.js';
import type { AdminToken } from './admin-token.js';
import { AllowedHosts } from './allowed-hosts.js';
import { Exposition } from './exposition.js';
import type { Readiness } from './readiness.js';

/** What the admin listener needs of a timetable. */
export interface AdminTimetable extends ViewSource {
  refresh(options: { readonly force: boolean }): Promise<LoadOutcome>;
}

export interface AdminOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Names that a Host may have besides `host`. */
  readonly allowedHosts: readonly string[];
  /** Null: nobody may load. */
  readonly token: AdminToken | null;
  readonly timetable: AdminTimetable;
  /** Of the timetable, since it was opened. */
  readonly activity: Activity;
  /** Serving threads of this server that were lost. */
  readonly losses: () => number;
  readonly readiness: Readiness;
  /** What the serving threads count and say of themselves. */
  readonly serving: Pick<Serving, 'condition' | 'isServing' | 'keys' | 'meters'>;
  readonly version: string;
  readonly log?: Logger | undefined;
}

/** A port for those who operate the service. */
export interface Admin {
  readonly address: ListenAddress;
  /** To be called when everything else is closed: until then /ready says what is going on. */
  close(): Promise<void>;
}

/** Whoever still waits for an answer at the end waits no longer than this. */
const CLOSE_DEADLINE_MS = 1000;

/**
 * Listens on this thread, with a server of its own: the same limits of time and size as that of the timetable, few connections.
 *
 * @throws LecternError `address-unavailable`
 */
export async function openAdmin(options: AdminOptions): Promise<Admin> {
  const { host, port, allowedHosts, token, timetable, activity, losses, readiness, serving, version, log } =
    options;
  const { meters } = serving;
  readiness.add('no-snapshot', () => timetable.summary === null);
  readiness.add('snapshot-stale', () => timetable.summary !== null && timetable.view === null);
  readiness.add('no-keys', () => !serving.keys.areThere);
  readiness.add('draining', () => serving.condition.isDraining);
  readiness.add('overloaded', () => serving.condition.isOverloaded);
  readiness.add('no-thread', () => timetable.summary !== null && !serving.isServing);
  const here = meters.some(({ thread }) => thread === 'main') ? null : new Meter();
  const exposition = new Exposition({
    meters,
    more: here === null ? [] : [{ thread: 'main', meter: here }],
    views: timetable,
    activity,
    losses,
    readiness,
    condition: () => serving.condition,
    keyFetches: serving.keys.fetched,
    log,
    version,
  });
  const handler = createAdminHandler({
    hosts: new AllowedHosts([host, ...allowedHosts]),
    readiness,
    metrics: exposition,
    token,
    log,
    async refresh(force) {
      const { result, reason } = await timetable.refresh({ force });
      const { summary } = timetable;
      return {
        outcome: result,
        snapshot: summary?.id ?? null,
        events: summary?.events ?? null,
        reason,
      };
    },
  });
  const server = new HttpServer(handler, {
    connectionsMax: ADMIN_CONNECTIONS_MAX,
    // Clients that stay connected must not keep probes out.
    whenFull: 'close-idle',
    // Who asks how the service is doing has to be told so when it has too much to do, too.
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
