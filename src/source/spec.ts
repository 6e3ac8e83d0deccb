import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LecternError } from '../errors.js';
import { LECTURER_IDS_BYTES_MAX } from '../limits.js';
import { normaliseText, quoteEscaped } from '../model/text.js';
import { NULL, type Row } from '../structures/row.js';
import { addressDigest, parseAddress } from '../upstream/address.js';
import type { AskSecretHeaders } from '../upstream/call.js';
import { MAPPED_FIELDS } from './field-map.js';
import { fileSource } from './file.js';
import { isGlob } from './find-files.js';
import { type FolderSpec, foundFiles, type GlobSpec } from './found-files.js';
import type { ClientCredentials } from './http/credentials.js';
import { headersByOrigin } from './http/headers-by-origin.js';
import { type HttpSpec, httpSource } from './http.js';
import { readJsonObject } from './json-file.js';
import { mergedSource } from './merged.js';
import type { FileLimits } from './open-file.js';
import { postgresSource } from './postgres/postgres.js';
import { isPostgresAddress } from './postgres/postgres-address.js';
import {
  checkPostgresSpec,
  type PostgresOptions,
  type PostgresSpec,
  postgresId,
} from './postgres/postgres-spec.js';
import type { RecordSource } from './records.js';
import type { RowSink, Source } from './source.js';

/** A source as plain data, which can cross threads. Header values may be secrets. */
export type SourceSpec = (FileSpec | FolderSpec | GlobSpec | HttpSpec | PostgresSpec | MergedSpec) & {
  /** Fills `lecturerId` from `lecturer`: a map from name to identifier, or the path of one. Default none. */
  readonly lecturerIds?: LecturerIds | undefined;
};

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
export function sourceOfSpec({ lecturerIds, ...spec }: SourceSpec, ask?: AskSecretHeadersOf): Source {
  if (lecturerIds !== undefined) return withLecturerIds(sourceOfSpec(spec, ask), lecturerIds);
  switch (spec.kind) {
    case 'file':
      if (typeof spec.path !== 'string' || spec.path === '')
        throw invalid('a source of the kind file has no path');
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
      throw invalid(
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

function invalid(problem: string, cause?: unknown): LecternError {
  return new LecternError('option-invalid', problem, { cause });
}

/**
 * 22 base64url characters, equal for equal sources. Credentials and maps of lecturers do not count. A source of the
 * embedding program is identified by its name alone.
 */
export function sourceDigest(source: SourceSpec | RecordSource, name: string): string {
  const parts = 'load' in source ? [`records ${name}`] : partsOf(source);
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16).toString('base64url');
}

function partsOf(spec: SourceSpec): readonly string[] {
  switch (spec.kind) {
    case 'file':
      return [spec.path === '-' ? 'standard input' : `file ${resolve(spec.path)}`];
    case 'folder':
      return [`folder ${resolve(spec.path)}`];
    case 'glob':
      return [`glob ${resolve(spec.pattern)}`];
    case 'http':
      return [`address ${addressDigest(parseAddress(spec.url))}`];
    case 'postgres':
      return [postgresId(checkPostgresSpec(spec), spec)];
    case 'merged':
      return spec.specs.flatMap(partsOf);
  }
}

export interface SourceArgumentOptions
  extends Omit<Partial<HttpSpec>, 'kind' | 'url' | 'headers' | 'clientCredentials'>,
    Pick<SourceSpec, 'lecturerIds'> {
  /** Settings for sources that are databases. */
  readonly postgres?: PostgresOptions | undefined;
  /** Values by name, or by origin and name: `https://host Authorization`. A value may be `Bearer file:PATH`. Default none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Tokens for all addresses, or for the addresses of one origin. Default none. */
  readonly clientCredentials?: (ClientCredentials & { readonly origin?: string | undefined }) | undefined;
  /** The variables that `env:NAME` in header values stands for. Default: header values stay unchanged. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
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
  const { environment, lecturerIds, postgres = {}, headers = {}, clientCredentials, ...http } = options;
  const bare = [text].flat().map((each) => parseOne(each, http, postgres));
  const originOf = ({ url }: HttpSpec): string => parseAddress(url).origin;
  const origins = [...new Set(bare.flatMap((each) => (each.kind === 'http' ? [originOf(each)] : [])))];
  const fieldsOf = headersByOrigin(headers, origins, environment);
  const tokensOf = tokensByOrigin(clientCredentials, origins);
  const specs = bare.map((each): SourceSpec => {
    if (each.kind !== 'http') return each;
    const fields = fieldsOf(originOf(each));
    const tokens = tokensOf(originOf(each));
    return { ...each, ...(fields && { headers: fields }), ...(tokens && { clientCredentials: tokens }) };
  });
  const [first, ...others] = specs;
  if (first === undefined) throw invalid('no source is given; expected at least one');
  const spec: SourceSpec = others.length === 0 ? first : { kind: 'merged', specs };
  // Reports wrong addresses and header fields at once.
  sourceOfSpec(spec);
  return lecturerIds === undefined ? spec : { ...spec, lecturerIds };
}

/** The tokens go to the named origin, or to the only origin. */
function tokensByOrigin(
  given: SourceArgumentOptions['clientCredentials'],
  origins: readonly string[],
): (origin: string) => ClientCredentials | undefined {
  if (given === undefined) return () => undefined;
  const { origin: named, ...tokens } = given;
  const target = named === undefined ? undefined : parseAddress(named, 'the origin of tokens').origin;
  if (target !== undefined && !origins.includes(target)) {
    throw invalid(
      `tokens are for ${target}, but no source has this origin; expected one of ${origins.join(', ')}`,
    );
  }
  if (target === undefined && origins.length > 1) {
    throw invalid(
      `sources are on several origins: ${origins.join(', ')}; name the one that the tokens are for`,
    );
  }
  return (origin) => (target === undefined || origin === target ? tokens : undefined);
}

function parseOne(
  text: string,
  http: Omit<Partial<HttpSpec>, 'kind' | 'url'>,
  postgres: PostgresOptions,
): SourceSpec {
  if (text === '') throw invalid('the source is empty; expected a path or an address');
  if (isPostgresAddress(text)) return { ...postgres, kind: 'postgres', url: text };
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return specOfPath(text);
    case 'http':
    case 'https':
      return { ...http, kind: 'http', url: text };
    case 'webcal':
    case 'webcals':
      return { ...http, kind: 'http', url: `https${text.slice(text.indexOf(':'))}` };
    case 'file':
      try {
        return specOfPath(fileURLToPath(text));
      } catch (cause) {
        throw invalid('the source is not a file: URL of this machine', cause);
      }
    default:
      throw invalid(
        `a source of the scheme ${scheme} cannot be read; expected a path, or an address that begins with http, https, postgres, nats, tls or folder and ://`,
      );
  }
}

/** The source at a path. A file may have any name, so an existing path is not a glob. */
function specOfPath(path: string): SourceSpec {
  if (path === '-') return { kind: 'file', path };
  try {
    return { kind: statSync(path).isDirectory() ? 'folder' : 'file', path };
  } catch {
    // The load reports the fault.
    if (isGlob(path)) return { kind: 'glob', pattern: path };
    return { kind: path.endsWith('/') ? 'folder' : 'file', path };
  }
}

/** Lecturer identifiers by display name, or the path of a JSON file that holds such an object. */
type LecturerIds = Readonly<Record<string, string>> | string;

/**
 * Fills a missing `lecturerId` from `lecturer`, compared in Unicode NFC. Each load reads the map, and the
 * version of the source includes the map.
 */
export function withLecturerIds(source: Source, lecturerIds: LecturerIds): Source {
  const { find } = source;
  return {
    ...source,
    ...(find !== undefined && {
      async find(signal) {
        const { sources, skipped } = await find(signal);
        return { sources: sources.map((each) => withLecturerIds(each, lecturerIds)), skipped };
      },
    }),
    async load(sink, { previous, onVersion, ...options } = {}) {
      const ids =
        typeof lecturerIds === 'string'
          ? idsByName(await readJsonObject(lecturerIds, mapFile(lecturerIds)), 'source-malformed')
          : idsByName(lecturerIds, 'option-invalid');
      const prefix = `${digestOf(ids)} `;
      const filling: RowSink = {
        row(row) {
          fill(row, ids);
          sink.row(row);
        },
        fault: (rejection) => sink.fault(rejection),
        notes: sink.notes,
      };
      const answer = await source.load(filling, {
        ...options,
        onVersion: (version) => onVersion?.(version === null ? null : prefix + version),
        previous: previous?.startsWith(prefix) ? previous.slice(prefix.length) : null,
      });
      if (answer === 'not-modified' || answer.version === null) return answer;
      return { ...answer, version: prefix + answer.version };
    },
  };
}

function mapFile(path: string): Parameters<typeof readJsonObject>[1] {
  const name = `the map of lecturer identifiers ${path}`;
  return { name, form: '{"name": "identifier"}', bytesMax: LECTURER_IDS_BYTES_MAX };
}

const LECTURER = MAPPED_FIELDS.indexOf('lecturer');
const LECTURER_ID = MAPPED_FIELDS.indexOf('lecturerId');

function fill(row: Row, ids: ReadonlyMap<string, string>): void {
  if (!row.isText(LECTURER) || row.kindOf(LECTURER_ID) > NULL) return;
  const lecturer = row.textOf(LECTURER);
  const id = ids.get(lecturer) ?? ids.get(normaliseText(lecturer) ?? lecturer);
  if (id !== undefined) row.put(LECTURER_ID, id);
}

function idsByName(
  map: Readonly<Record<string, unknown>>,
  code: 'source-malformed' | 'option-invalid',
): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const [name, id] of Object.entries(map)) {
    if (typeof id !== 'string') {
      const problem = `the identifier of ${quoteEscaped(name)} is not a string`;
      throw new LecternError(code, `the map of lecturer identifiers is not valid: ${problem}`);
    }
    ids.set(normaliseText(name) ?? name, id);
  }
  return ids;
}

function digestOf(ids: ReadonlyMap<string, string>): string {
  const entries = [...ids].sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest().subarray(0, 16).toString('base64url');
}
