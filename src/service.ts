import { Activity } from './admin/activity.js';
import { readAdminToken } from './admin/admin-token.js';
import type { Admin } from './admin/open-admin.js';
import { createDevelopmentSecret, type DevelopmentIssuer } from './auth/development-issuer.js';
import { readEnrolments } from './auth/enrolments.js';
import { createClaimTable } from './auth/identity.js';
import { type KeyMaterial, keySetOf, readPublicKeys, SECRET_BYTES_MIN } from './auth/key-set.js';
import { isAddress, planRemoteKeys } from './auth/remote-keys-plan.js';
import { readTextFile } from './auth/text-file.js';
import { LecternError } from './errors.js';
import { findSwaggerUi } from './http/docs/assets.js';
import type { ListenAddress } from './http/listen-address.js';
import type { Logger } from './http/logger.js';
import { KEY_FILE_BYTES_MAX } from './limits.js';
import { type ResolvedOptions, resolveOptions, type ServiceOptions } from './options.js';
import { Readiness } from './readiness.js';
import { percentRejected } from './refresh/gate.js';
import type { ServingCondition } from './serving/condition.js';
import { type HandlerPlan, issuerOfPlan } from './serving/handler-plan.js';
import { openServing } from './serving/open-serving.js';
import type { Serving } from './serving/serving.js';
import { threadsOf } from './serving/worker-count.js';
import type { SnapshotSummary } from './snapshot/summary.js';
import type { LoadProgress } from './source/source.js';
import { parseSourceArgument } from './source/spec.js';
import { cacheBytesMaxOf, openFollowedTimetable, staleMsMaxOf, type Timetable } from './timetable.js';
import type { TimetableOptions } from './timetable-options.js';
import { VERSION } from './version.js';

/** A timetable that is served over HTTP. */
export interface Service {
  readonly address: ListenAddress;
  /** Threads that serve. */
  readonly workers: number;
  /** Where the endpoints are for this machine: origin and base path, without a slash at the end. */
  readonly baseUrl: string;
  /** Of the listener for those who operate the service; null where there is none. */
  readonly adminAddress: ListenAddress | null;
  readonly mode: ResolvedOptions['mode'];
  readonly timetable: Timetable;
  /** Resolves when the first snapshot is served; rejects with the LecternError that kept it from being built. */
  readonly ready: Promise<SnapshotSummary>;
  /** Whether more requests should come, as far as the port is concerned. */
  readonly condition: ServingCondition;
  /** In development and once ready: a request that shows events, and the token that it needs. Null in production. */
  example(): Promise<ExampleRequest | null>;
  /** From now on every answer is the last of its connection, and `condition` says that none should be opened any more. */
  drain(): void;
  /** Lets answers in flight finish, then closes port and timetable. Aborts a load that is under way. */
  close(): Promise<void>;
}

export interface ExampleRequest {
  readonly url: string;
  readonly token: string;
}

/** Where a service tells what happens. */
export interface ServiceObserver {
  /** Default: nothing is logged. A pino logger is one. */
  readonly log?: Logger;
  /** Called now and then while the source is read. */
  readonly onProgress?: (progress: LoadProgress) => void;
}

/**
 * The composition root: source, timetable, authentication, handler and server.
 *
 * Resolves as soon as the port is bound, so that a port that is taken is known before a long load; until `ready`, reads
 * are answered with 503.
 *
 * @throws LecternError `option-invalid`; `key-missing` (production without a key); `key-invalid`; `address-unavailable`
 */
export async function startService(
  options: ServiceOptions,
  observer: ServiceObserver = {},
): Promise<Service> {
  const settings = resolveOptions(options);
  const { log, onProgress } = observer;
  const { basePath, mode, identifiers, unknownParameters, issuer, audience, claims, jwks, tokenType } =
    settings;

  const source = sourceOf(settings);
  createClaimTable(claims);
  const keys = await readKeys(settings);
  for (const key of keys) keySetOf(key);
  const remoteKeys =
    jwks !== undefined && isAddress(jwks) ? planRemoteKeys(jwks, settings, '--jwks (LECTERN_JWKS)') : null;
  if (keys.length === 0 && remoteKeys === null && mode === 'production') {
    throw new LecternError(
      'key-missing',
      'production needs a key that verifies tokens: set LECTERN_HS256_SECRET or give --hs256-secret-file or --jwks, ' +
        'or try the service out with --dev',
    );
  }
  const enrolments =
    settings.enrolmentsFile === undefined ? null : await readEnrolments(settings.enrolmentsFile, identifiers);
  const plan: HandlerPlan = {
    auth: { keys, remoteKeys, issuer, audience, tokenType, claims, enrolments, identifiers },
    basePath,
    unknownParameters,
    version: VERSION,
    corsOrigins: settings.corsOrigins ?? [],
    accessLogShare: settings.accessLog,
    development:
      mode === 'production' ? null : { secret: createDevelopmentSecret(), docsAssets: findSwaggerUi().href },
  };
  const { adminPort, adminHost, adminTokenFile } = settings;
  const adminToken = adminTokenFile === undefined ? null : await readAdminToken(adminTokenFile);
  const activity = new Activity();
  let losses = 0;
  const readiness = new Readiness();
  const timetableOptions = timetableOptionsOf(settings, source, onProgress);
  const serving = await openServing({
    plan,
    host: settings.host,
    port: settings.port,
    workers: threadsOf(settings.workers),
    connectionsMax: settings.connectionsMax,
    overloadMs: settings.overloadMs,
    source: { name: '', state: 'loading', lastSuccessMs: null, lastError: null },
    staleMsMax: staleMsMaxOf(timetableOptions),
    cacheBytesMax: cacheBytesMaxOf(timetableOptions),
    isMetered: settings.adminPort !== undefined,
    log,
    onLost: (error) => {
      losses++;
      log?.error({ reason: error.message }, 'serving thread lost');
    },
  });
  // Where this thread serves, no request can come in before this turn of the event loop ends.
  let timetable: Timetable | null = null;
  let admin: Admin | null = null;
  try {
    timetable = openFollowedTimetable(timetableOptions, serving.follower);
    activity.follow(timetable);
    if (log !== undefined) logEvents(timetable, settings, log);
    serving.answerFrom(timetable);
    await serving.started;
    if (adminPort !== undefined) {
      // With what it needs besides, which takes a moment to load.
      const { openAdmin } = await import('./admin/open-admin.js');
      admin = await openAdmin({
        host: adminHost,
        port: adminPort,
        token: adminToken,
        timetable,
        activity,
        losses: () => losses,
        readiness,
        serving,
        version: VERSION,
        log,
      });
    }
  } catch (error) {
    await Promise.all([serving.close({ deadlineMs: 0 }), timetable?.close()]);
    await admin?.close();
    throw error;
  }
  return serviceOf({ serving, timetable, admin, readiness }, settings, issuerOfPlan(plan));
}

/** What a service is made of. */
interface Parts {
  readonly serving: Serving;
  readonly timetable: Timetable;
  readonly admin: Admin | null;
  readonly readiness: Readiness;
}

function serviceOf(
  { serving, timetable, admin, readiness }: Parts,
  { mode, basePath }: ResolvedOptions,
  development: DevelopmentIssuer | null,
): Service {
  const { address, workers } = serving;
  const baseUrl = reachableOrigin(address) + basePath;
  let isClosing = false;
  readiness.add('draining', () => isClosing);
  return {
    address,
    workers,
    baseUrl,
    mode,
    timetable,
    ready: timetable.ready,
    get condition() {
      return serving.condition;
    },
    drain: () => serving.drain(),
    example: async () => (development === null ? null : exampleRequest(baseUrl, timetable, development)),
    adminAddress: admin?.address ?? null,
    async close() {
      isClosing = true;
      try {
        await serving.close();
        await timetable.close();
      } finally {
        // Last, so that until then it can be asked what is going on.
        await admin?.close();
      }
    },
  };
}

function timetableOptionsOf(
  settings: ResolvedOptions,
  source: TimetableOptions['source'],
  onProgress: ServiceObserver['onProgress'],
): TimetableOptions {
  return {
    source,
    identifiers: settings.identifiers,
    unknownParameters: settings.unknownParameters,
    refreshSeconds: settings.refreshSeconds,
    watch: settings.watch,
    staleSecondsMax: settings.staleSecondsMax,
    snapshotFile: settings.snapshotFile,
    snapshotFilesKept: settings.snapshotFilesKept,
    pin: settings.pin,
    cacheMb: settings.cacheMb,
    memoryMbMax: settings.memoryMbMax,
    eventsMax: settings.eventsMax,
    gate: {
      shrinkPercentMax: settings.shrinkPercentMax,
      rejectPercentMax: settings.rejectPercentMax,
      growthPercentMax: settings.growthPercentMax,
      allowEmpty: settings.emptySet === 'publish',
    },
    onProgress,
  };
}

/** "Every address" can be listened on and, on many systems, not be connected to. */
function reachableOrigin({ host, port, origin }: ListenAddress): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  return host === '::' ? `http://[::1]:${port}` : origin;
}

async function readKeys({ hs256Secret, hs256SecretFile, jwks }: ResolvedOptions): Promise<KeyMaterial[]> {
  const keys: KeyMaterial[] = [];
  if (hs256Secret !== undefined) keys.push({ kind: 'secret', secret: hs256Secret });
  if (hs256SecretFile !== undefined) {
    const name = `the HS256 secret file ${hs256SecretFile}`;
    const text = await readTextFile(hs256SecretFile, {
      name,
      bytesMax: KEY_FILE_BYTES_MAX,
      code: 'key-invalid',
    });
    // Editors end the last line; nobody means that line end to be part of the secret.
    const secret = text.replace(/\r?\n$/, '');
    if (secret === '') {
      const expected = `expected a secret of at least ${SECRET_BYTES_MIN} bytes`;
      throw new LecternError('key-invalid', `${name} is empty; ${expected}`);
    }
    keys.push({ kind: 'secret', secret, name });
  }
  if (jwks !== undefined && !isAddress(jwks)) keys.push(await readPublicKeys(jwks, KEY_FILE_BYTES_MAX));
  return keys;
}

/** Paths and addresses as sources, with what the settings say of addresses; anything else as it is. */
function sourceOf({
  source,
  sourceHeaders,
  lecturerIdsFile,
  pin,
}: ResolvedOptions): TimetableOptions['source'] {
  // What is pinned needs no source, and none is asked.
  if (pin !== undefined) return [];
  const given = typeof source === 'string' ? [source] : source;
  if (!isTexts(given)) return given as TimetableOptions['source'];
  return parseSourceArgument(given, {
    environment: process.env,
    ...(sourceHeaders === undefined ? {} : { headers: sourceHeaders }),
    ...(lecturerIdsFile === undefined ? {} : { lecturerIds: lecturerIdsFile }),
  });
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string');
}

/**
 * One line for each publication, refusal and fault. A first load that fails for good is not among them: `ready` reports it,
 * and whoever started the service decides.
 *
 * @param settings with a regular refresh a first load that fails is tried again
 */
function logEvents(
  timetable: Timetable,
  { refreshSeconds, rejectPercentMax }: ResolvedOptions,
  log: Logger,
): void {
  const source = timetable.source.name;
  const isFinal = (): boolean => timetable.summary === null && refreshSeconds === 0;
  timetable.on('published', ({ summary, origin, changes }) => {
    const { id, events, rejected, buildMs } = summary;
    log.info({ source, snapshot: id, origin, events, rejected, buildMs, ...changes }, 'timetable published');
    // Nothing was there that it could have been refused for.
    if (changes !== null || origin !== 'source' || percentRejected(summary) <= rejectPercentMax) return;
    const reason = `${percentRejected(summary).toFixed(1)} % of the records were rejected; with a timetable in place at most ${rejectPercentMax} % are let through`;
    log.warn({ source, events, rejected, reason }, 'first timetable has many bad records');
  });
  timetable.on('refused', ({ refusal, summary }) => {
    if (isFinal()) return;
    const { id, events, rejected } = summary ?? {};
    log.warn({ source, snapshot: id, events, rejected, reason: refusal.detail }, 'timetable refused');
  });
  timetable.on('error', (error) => {
    const reason = error.message;
    const code = error instanceof LecternError ? error.code : null;
    // Of the snapshot file. The timetable itself may be as good as ever.
    if (code === 'image-not-written') log.error({ source, reason }, 'snapshot file not written');
    else if (code === 'image-unusable') log.error({ source, reason }, 'snapshot file not read');
    else if (!isFinal()) log.error({ source, reason }, 'timetable not loaded');
  });
}

/** As somebody who has events of their own, where the data and the claims allow it; otherwise as anybody. */
async function exampleRequest(
  baseUrl: string,
  timetable: Timetable,
  issuer: DevelopmentIssuer,
): Promise<ExampleRequest> {
  for (const { field } of issuer.table) {
    // Fields that have claims by default say whose an event is; the others could be configured to be anything.
    const value = field.claims.length === 0 ? null : (timetable.view?.sampleValue(field.name) ?? null);
    if (value === null) continue;
    const { token } = await issuer.issue({ values: { [field.name]: [value] } });
    return { url: `${baseUrl}/schedule/personal?limit=3`, token };
  }
  const { token } = await issuer.issue({});
  return { url: `${baseUrl}/schedule?limit=3`, token };
}
