/** Adds files, a log and an example request to `openTimetable` and `serve`, for the command line. */
import { createClaimTable } from '../auth/identity.js';
import { LecternError } from '../base/errors.js';
import type { Logger } from '../http/logger.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { Resolved, ResolvedSettings, ServiceOptions } from '../options/option-types.js';
import { optionsOf, resolveSettings } from '../options/resolve.js';
import { sourceOf } from '../options/source-of-settings.js';
import { isPipe } from '../refresh/patience.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { LoadProgress } from '../source/source.js';
import { filesOf } from '../source/spec.js';
import { intervalSeconds, isStoreSource } from './keeping.js';
import { logTimetable } from './load-log.js';
import type { TimetableServer } from './open-servers.js';
import { openTimetable } from './timetable.js';
import type { Timetable } from './timetable-interface.js';

export interface Service
  extends Pick<TimetableServer, 'address' | 'adminAddress' | 'condition' | 'drain' | 'workers'> {
  /** Origin and base path for this machine, without a final slash. */
  readonly baseUrl: string;
  readonly dev: boolean;
  /** Whether the source is loaded at regular intervals. */
  readonly isRegular: boolean;
  readonly timetable: Timetable;
  readonly ready: Promise<SnapshotSummary>;
  /** A request that shows events, with a token. Null in production. */
  example(): Promise<ExampleRequest | null>;
  close(): Promise<void>;
}

export interface ExampleRequest {
  readonly url: string;
  readonly token: string;
}

/**
 * Resolves when the port is bound, because a taken port must fail before a long load. Reads get 503 until
 * `ready` resolves.
 */
export async function startService(
  options: ServiceOptions,
  { log, onProgress }: { log?: Logger; onProgress?: (progress: LoadProgress) => void } = {},
): Promise<Service> {
  const settings = resolveSettings(options);
  const { source, timetable: file } = sourceOf(settings);
  const isRegular = intervalSeconds({ ...settings, source }) > 0;
  const auth = authOf(settings);
  const admin = settings.adminPort === undefined ? undefined : optionsOf('admin', settings);
  let heard = (): void => {};
  const timetable = openTimetable(
    optionsOf('openTimetable', settings, {
      source,
      timetable: file,
      onProgress(progress) {
        heard();
        return onProgress?.(progress);
      },
      gate: optionsOf('gate', settings),
    }),
  );
  try {
    if (log !== undefined) {
      logTimetable(timetable, 'timetable published', { ...settings, isRegular }, log);
      if (settings.pin === undefined) heard = warnOfSilence(timetable, source, log);
    }
    const feed = hasFeeds(settings) ? optionsOf('feed', settings) : undefined;
    const server = await timetable.serve(optionsOf('serve', settings, { auth, feed, admin, log }));
    const { address, adminAddress, workers } = server;
    const { dev, basePath, claims } = settings;
    const baseUrl = reachableOrigin(address) + basePath.replace(/\/$/, '');
    return {
      address,
      adminAddress,
      workers,
      baseUrl,
      dev,
      isRegular,
      timetable,
      ready: timetable.ready,
      get condition() {
        return server.condition;
      },
      drain: () => server.drain(),
      example: () => exampleRequest(baseUrl, timetable, server, claims),
      close: () => timetable.close(),
    };
  } catch (error) {
    await timetable.close();
    throw error;
  }
}

/** Many systems cannot connect to the address that means "all addresses". */
function reachableOrigin({ host, port, origin }: ListenAddress): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  return host === '::' ? `http://[::1]:${port}` : origin;
}

function authOf(settings: ResolvedSettings): Resolved<'auth'> {
  const { dev, hs256Secret, hs256SecretFile, jwks } = settings;
  if (hs256Secret === undefined && hs256SecretFile === undefined && jwks === undefined && !dev) {
    throw new LecternError(
      'key-missing',
      'production needs a key that verifies tokens: set LECTERN_HS256_SECRET or give --hs256-secret-file or --jwks, ' +
        'or try the service with --dev',
    );
  }
  return optionsOf('auth', settings);
}

function hasFeeds({ feedSecret, feedSecretFile }: ResolvedSettings): boolean {
  return feedSecret !== undefined || feedSecretFile !== undefined;
}

const SOURCE_SILENT_MS = 3000;

/**
 * Logs once that the first load still waits for data; a pipe may take 15 minutes. Call the returned function
 * when data arrives.
 */
function warnOfSilence(timetable: Timetable, source: Resolved<'openTimetable'>['source'], log: Logger) {
  const timer = setTimeout(() => {
    const files = typeof source === 'object' && 'kind' in source ? filesOf(source) : [];
    const pipes = files.filter(isPipe);
    const { name, lastError } = timetable.source;
    const reason =
      pipes.length === 0
        ? (lastError ?? 'no data has arrived from it')
        : `no data in the named pipe ${pipes.join(' or ')}`;
    log.warn({ source: name, reason }, 'still waiting for the source');
  }, SOURCE_SILENT_MS).unref();
  const heard = (): void => clearTimeout(timer);
  // A store is checked again and again until a publisher announces an image.
  timetable.on('loaded', ({ result }) => {
    if (result !== 'failed' || !isStoreSource(source)) heard();
  });
  timetable.ready.then(heard, heard);
  return heard;
}

/** An example request for a user with events if possible, otherwise for any user. */
async function exampleRequest(
  baseUrl: string,
  timetable: Timetable,
  server: TimetableServer,
  claims: ResolvedSettings['claims'],
): Promise<ExampleRequest | null> {
  for (const { field } of createClaimTable(claims)) {
    // Settings may give a claim to a field that has none by default.
    const value = field.claims.length === 0 ? null : (timetable.view?.sampleValue(field.name) ?? null);
    if (value === null) continue;
    const token = await server.testToken({ [field.name]: [value] });
    return token === null ? null : { url: `${baseUrl}/schedule/personal?limit=3`, token };
  }
  const token = await server.testToken();
  return token === null ? null : { url: `${baseUrl}/schedule?limit=3`, token };
}
