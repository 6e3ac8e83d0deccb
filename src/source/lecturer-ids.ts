import { createHash } from 'node:crypto';
import { LecternError } from '../errors.js';
import { LECTURER_IDS_BYTES_MAX } from '../limits.js';
import { normaliseText, quoteEscaped } from '../model/text.js';
import { readJsonObject } from './json-file.js';
import type { RecordSink, Source } from './source.js';

/** Lecturer identifiers by display name, or the path of a JSON file that holds such an object. */
export type LecturerIds = Readonly<Record<string, string>> | string;

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
      const filling: RecordSink = {
        record: (value, position) => sink.record(fill(value, ids), position),
        reject: (rejection) => sink.reject(rejection),
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

/** Copies the record, because it may belong to the embedding program. */
function fill(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  try {
    const { lecturer, lecturerId } = value as Readonly<Record<string, unknown>>;
    if (typeof lecturer !== 'string' || (lecturerId !== undefined && lecturerId !== null)) return value;
    const id = ids.get(lecturer) ?? ids.get(normaliseText(lecturer) ?? lecturer);
    return id === undefined ? value : { ...value, lecturerId: id };
  } catch {
    // Accessors may throw, which the normaliser reports.
    return value;
  }
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
