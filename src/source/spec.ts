import { createHash } from 'node:crypto';
import type { StatsBase } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cannotRead, LecternError, optionInvalid } from '../base/errors.js';
import { fileCallsOf, SilentFileSystem, statInTime, statNow } from '../base/files/file-calls.js';
import { failureCode, PathWatch, stateOf, type WatchOptions, watchPath } from '../base/files/path-watch.js';
import { readTextFile } from '../base/files/text-file.js';
import { FILE_IDLE_MS_MAX, LECTURER_IDS_BYTES_MAX, LOOK_MS_MAX } from '../base/limits.js';
import { shortDigest } from '../base/model/derived-identifier.js';
import { describeJsonFault } from '../base/model/json-fault.js';
import { overlaid, type ReadRules } from '../base/model/read-rules.js';
import { quoteEscaped } from '../base/model/text.js';
import { type FileLimits, fileSource } from './file.js';
import { type FolderSpec, findFiles, foundFiles, type GlobSpec, isGlob, startOf } from './found-files.js';
import { type AskSecretHeaders, parseAddress } from './http/call.js';
import { type ClientCredentials, headersByOrigin } from './http/credentials.js';
import { type HttpSpec, httpSource } from './http.js';
import type { RecordSource, RecordWatch } from './memory-source.js';
import { mergedSource } from './merged.js';
import { postgresSource } from './postgres/postgres.js';
import { isPostgresAddress, type PostgresOptions, type PostgresSpec } from './postgres/postgres-address.js';
import { idOf, type Source } from './source.js';

/** A source as plain data, which can cross threads. Header values may be secrets. */
export type SourceSpec = (FileSpec | FolderSpec | GlobSpec | HttpSpec | PostgresSpec | MergedSpec) & OwnRules;

/** What one source has of its own. */
export interface OwnRules {
  /** Rules of reading where they differ from those of the timetable. Default none. */
  readonly rules?: Partial<ReadRules> | undefined;
  /** For messages, states and metrics. Default: the path or the address. */
  readonly name?: string | undefined;
  /** Text before each title. Default none. */
  readonly prefix?: string | undefined;
  /** For one of several sources: seconds between two reads. Default: each load reads it. */
  readonly refreshSeconds?: number | undefined;
  /** Fills `lecturerId` from `lecturer`: a map from name to identifier, or the path of one. Default none. */
  readonly lecturerIds?: LecturerIds | undefined;
}

/** A number instead of credentials that may change. Loading threads use it to ask for the present credentials. */
export interface NumberedCredentials {
  readonly credentials?: number | undefined;
}

/** A file as a source. */
export interface FileSpec extends FileLimits {
  /** Identifies this kind of source. */
  readonly kind: 'file';
  /** A path, or `-` for standard input. */
  readonly path: string;
}

/** Several sources. If two sources have an event with the same id, the later source wins. */
export interface MergedSpec {
  /** Identifies this kind of source. */
  readonly kind: 'merged';
  /** The sources; the last has precedence. */
  readonly specs: readonly SourceSpec[];
}

/** Gives the secret header fields for the number in {@link NumberedCredentials}. */
export type AskSecretHeadersOf = (
  credentials: number,
  ...ask: Parameters<AskSecretHeaders>
) => ReturnType<AskSecretHeaders>;

/**
 * @param ask gives the credentials of specs that have a number instead
 * @throws LecternError `option-invalid`
 */
export function sourceOfSpec(given: SourceSpec, ask?: AskSecretHeadersOf): Source {
  const { lecturerIds, rules, name, prefix, refreshSeconds, ...spec } = given;
  const own = { lecturerIds, rules, name, prefix, refreshSeconds };
  if (Object.values(own).some((value) => value !== undefined))
    return withOwnRules(sourceOfSpec(spec, ask), own);
  switch (spec.kind) {
    case 'file':
      if (typeof spec.path !== 'string' || spec.path === '')
        throw optionInvalid('a source of the kind file has no path');
      return fileSource(spec.path, spec);
    case 'folder':
    case 'glob':
      return foundFiles(spec);
    case 'http':
      return httpSource(spec, askOf(spec, ask));
    case 'postgres':
      return postgresSource(spec);
    case 'merged':
      return mergedSource(spec.specs.map((each) => sourceOfSpec(each, ask)));
    default: {
      const kind = JSON.stringify((spec as { readonly kind: unknown }).kind);
      throw optionInvalid(
        `a source of the kind ${kind} is not known; expected file, folder, glob, http, postgres or merged`,
      );
    }
  }
}

function askOf(spec: HttpSpec, ask: AskSecretHeadersOf | undefined): AskSecretHeaders | undefined {
  const { credentials } = spec as NumberedCredentials;
  return credentials === undefined || ask === undefined
    ? undefined
    : (...asked) => ask(credentials, ...asked);
}

/**
 * 22 base64url characters, equal for equal sources. Credentials and maps of lecturers do not count. A source of the
 * embedding program is identified by its name alone.
 */
export function sourceDigest(source: SourceSpec | RecordSource, name: string): string {
  return shortDigest('load' in source ? `records ${name}` : idOf(sourceOfSpec(source)));
}

export interface SourceArgumentOptions extends Pick<OwnRules, 'lecturerIds'> {
  /** Settings for sources that are databases. */
  readonly postgres?: PostgresOptions | undefined;
  /** Values by name, or by origin and name: `https://host Authorization`. A value may be `Bearer file:PATH`. Default none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Tokens for the addresses, which have one origin. Default none. */
  readonly clientCredentials?: ClientCredentials | undefined;
  /** The variables that `env:NAME` in header values stands for. Default: header values stay unchanged. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** The state of a path; null if there is nothing. Default: asks the file system with a call that blocks. */
  readonly stateOfPath?: ((path: string) => StatsBase<bigint> | null) | undefined;
}

/**
 * Reads sources as a command line names them: `http://…`, `https://…`, `webcal://…` (as https), `postgres://…`, the path
 * of a file or folder, a glob, a `file:` URL, or `-`. Several names become one merged source. Header fields
 * may be secrets, so each goes to only one origin.
 *
 * @throws LecternError `option-invalid`
 */
export function parseSourceArgument(
  text: string | readonly string[],
  options: SourceArgumentOptions = {},
): SourceSpec {
  const { environment, lecturerIds, postgres = {}, headers = {}, clientCredentials } = options;
  const bare = [text].flat().map((each) => parseOne(each, postgres, options.stateOfPath ?? statNow));
  const originOf = ({ url }: HttpSpec): string => parseAddress(url).origin;
  const origins = [...new Set(bare.flatMap((each) => (each.kind === 'http' ? [originOf(each)] : [])))];
  const fieldsOf = headersByOrigin(headers, origins, environment);
  const specs = bare.map((each): SourceSpec => {
    if (each.kind !== 'http') return each;
    const fields = fieldsOf(originOf(each));
    return { ...each, ...(fields && { headers: fields }), ...(clientCredentials && { clientCredentials }) };
  });
  const [first, ...more] = specs;
  if (first === undefined) throw optionInvalid('no source is given; expected at least one');
  const spec: SourceSpec = more.length === 0 ? first : { kind: 'merged', specs };
  // Reports wrong addresses and header fields at once.
  sourceOfSpec(spec);
  return lecturerIds === undefined ? spec : { ...spec, lecturerIds };
}

function parseOne(text: string, postgres: PostgresOptions, stateOfPath: StateOfPath): SourceSpec {
  if (text === '') throw optionInvalid('the source is empty; expected a path or an address');
  if (isPostgresAddress(text)) return { ...postgres, kind: 'postgres', url: text };
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return specOfPath(text, stateOfPath);
    case 'http':
    case 'https':
      return { kind: 'http', url: text };
    case 'webcal':
    case 'webcals':
      return { kind: 'http', url: `https${text.slice(text.indexOf(':'))}` };
    case 'file':
      try {
        return specOfPath(fileURLToPath(text), stateOfPath);
      } catch (cause) {
        throw optionInvalid('the source is not a file: URL of this machine', cause);
      }
    default:
      throw optionInvalid(
        `a source of the scheme ${scheme} cannot be read; expected a path, or an address that begins with http, https, postgres, nats, tls or folder and ://`,
      );
  }
}

type StateOfPath = NonNullable<SourceArgumentOptions['stateOfPath']>;

/** The source at a path. A file may have any name, so an existing path is not a glob. */
function specOfPath(path: string, stateOfPath: StateOfPath): SourceSpec {
  if (path === '-') return { kind: 'file', path };
  let state: StatsBase<bigint> | null = null;
  try {
    state = stateOfPath(path);
  } catch {
    // The load reports the fault.
  }
  if (state !== null) return { kind: state.isDirectory() ? 'folder' : 'file', path };
  if (isGlob(path)) return { kind: 'glob', pattern: path };
  return { kind: path.endsWith('/') ? 'folder' : 'file', path };
}

/** Lecturer identifiers by display name, or the path of a JSON file that holds such an object. */
type LecturerIds = Readonly<Record<string, string>> | string;

/** The rules of a load from one source, which are those of the timetable with the source's own. */
export function liftRules(spec: SourceSpec, rules: ReadRules): { spec: SourceSpec; rules: ReadRules } {
  if (spec.kind === 'merged' || spec.rules === undefined) return { spec, rules };
  const { rules: own, ...bare } = spec;
  return { spec: bare, rules: overlaid(rules, own) };
}

/**
 * The source with what it has of its own. The version includes rules, prefix and identifiers of lecturers, because with
 * others the same bytes give other rows. Each load reads the map of lecturers.
 */
export function withOwnRules(source: Source, own: OwnRules): Source {
  const { lecturerIds, rules = {}, name = source.name, prefix, refreshSeconds } = own;
  const { find } = source;
  return {
    ...source,
    id: idOf(source),
    name,
    rules: { ...source.rules, ...rules },
    refreshMs: refreshSeconds === undefined ? source.refreshMs : refreshSeconds * 1000,
    ...(find !== undefined && {
      async find(signal) {
        const { sources, skipped } = await find(signal);
        const named = (each: Source): string =>
          own.name === undefined ? each.name : `${name}: ${each.name}`;
        return { sources: sources.map((each) => withOwnRules(each, { ...own, name: named(each) })), skipped };
      },
    }),
    async load(sink, { previous, onVersion, ...options } = {}) {
      const all = { ...rules, prefix, lecturerIds: await lecturerIdsOf(lecturerIds) };
      const digest = digestOf(all);
      const mark = digest === digestOf({}) ? '' : `${digest} `;
      const answer = await source.load(sink, {
        ...options,
        rules: overlaid(options.rules ?? { identifiers: 'uuid' }, all),
        onVersion: (version) => onVersion?.(version === null ? null : mark + version),
        previous: previous?.startsWith(mark) ? previous.slice(mark.length) : null,
      });
      if (answer === 'not-modified' || answer.version === null) return answer;
      return { ...answer, version: mark + answer.version };
    },
  };
}

async function lecturerIdsOf(given: LecturerIds | undefined): Promise<ReadRules['lecturerIds']> {
  if (given === undefined) return undefined;
  if (typeof given !== 'string') return idsByName(given, 'option-invalid');
  const name = `the map of lecturer identifiers ${given}`;
  const bounds = {
    name,
    bytesMax: LECTURER_IDS_BYTES_MAX,
    code: 'source-unreadable',
    isRegular: true,
  } as const;
  const text = await readTextFile(given, bounds);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw cannotRead(name, `it is not JSON: ${describeJsonFault(text)}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return idsByName(value as Readonly<Record<string, unknown>>, 'source-malformed');
  throw new LecternError(
    'source-malformed',
    `${name}: expected an object of the form {"name": "identifier"}`,
  );
}

function idsByName(
  map: Readonly<Record<string, unknown>>,
  code: 'source-malformed' | 'option-invalid',
): NonNullable<ReadRules['lecturerIds']> {
  for (const [name, id] of Object.entries(map)) {
    if (typeof id === 'string') continue;
    const problem = `the identifier of ${quoteEscaped(name)} is not a string`;
    throw new LecternError(code, `the map of lecturer identifiers is not valid: ${problem}`);
  }
  return map as Readonly<Record<string, string>>;
}

/** Equal for equal rules, in any order of their names. */
function digestOf(rules: Partial<ReadRules>): string {
  const { lecturerIds, places: _, ...others } = rules;
  const ids = lecturerIds && Object.entries(lecturerIds).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([others, ids]);
  return shortDigest(text);
}

const FIRST_LOOK_MS_MAX = 1000;
/** The least pause after a check of many files, as a multiple of its duration: a check takes at most 5 % of a processor. */
const FOUND_PAUSE_FACTOR = 20;

/**
 * A watch. `ready` settles after the first check; it is null if the first check has already ended. Changes before
 * the first check are not reported.
 */
export interface SourceWatch extends RecordWatch {
  readonly ready: Promise<unknown> | null;
}

/**
 * Calls back when a file of the source has changed and settled, or was added or removed. Changes before the watch
 * are not reported, so watch before loading. A watch does not keep the process alive.
 */
export function watchSource(spec: SourceSpec, onChange: () => void, options: WatchOptions = {}): SourceWatch {
  const files = [...new Set(filesOf(spec))].map((path) => watchPath(path, onChange, options));
  const ofMany = { pauseFactor: FOUND_PAUSE_FACTOR, ...options };
  const found = foundBy(spec).map((each) => new PathWatch(() => lookAtFound(each), null, onChange, ofMany));
  const looked = Promise.all(found.map(({ ready }) => ready));
  return {
    // The wait has a limit, because a network file system may not answer. The load reports that fault.
    ready: found.length === 0 ? null : Promise.race([looked, delay(FIRST_LOOK_MS_MAX)]),
    close() {
      for (const each of [...files, ...found]) each.close();
    },
  };
}

/** Absolute paths of the source's named files, without standard input. */
export function filesOf(spec: SourceSpec): string[] {
  const files = typeof spec.lecturerIds === 'string' ? [resolve(spec.lecturerIds)] : [];
  if (spec.kind === 'merged') return [...files, ...spec.specs.flatMap(filesOf)];
  return spec.kind === 'file' && spec.path !== '-' ? [...files, resolve(spec.path)] : files;
}

function foundBy(spec: SourceSpec): (FolderSpec | GlobSpec)[] {
  if (spec.kind === 'merged') return spec.specs.flatMap(foundBy);
  return spec.kind === 'folder' || spec.kind === 'glob' ? [spec] : [];
}

/** Rejects if the file system does not answer. */
async function lookAtFound(spec: FolderSpec | GlobSpec): Promise<string> {
  const hash = createHash('sha256');
  try {
    const { dev } = await statInTime(startOf(spec));
    // Apart from other calls to its file system: there may be 10,000 files, and links to file systems that hang.
    const calls = fileCallsOf(`files found on ${dev}`);
    const { paths } = await calls.run(() => findFiles(spec), FILE_IDLE_MS_MAX);
    for (const path of paths) {
      const state = await calls
        .run(() => stat(path, { bigint: true }), LOOK_MS_MAX)
        .then(stateOf, failureCode);
      hash.update(`${path} ${state}\n`);
    }
    return hash.digest('base64url');
  } catch (error) {
    if (error instanceof SilentFileSystem) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}
