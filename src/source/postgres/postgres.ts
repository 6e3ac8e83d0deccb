import { cannotRead, type LecternError, tooLarge } from '../../base/errors.js';
import {
  READ_CHUNK_BYTES,
  UPSTREAM_BYTES_MAX,
  UPSTREAM_HEADERS_MS_MAX,
  UPSTREAM_IDLE_MS_MAX,
  UPSTREAM_TOTAL_MS_MAX,
} from '../../base/limits.js';
import { inTime } from '../../base/model/clock.js';
import { shortDigest } from '../../base/model/derived-identifier.js';
import { FieldTable } from '../field-map.js';
import { preparePatterns } from '../map-value.js';
import type { LoadOptions, LoadSummary, RowSink, Source } from '../source.js';
import { BinaryRows, binaryCopyOf } from './binary-rows.js';
import { Database, failureOf, nothingCame } from './database.js';
import { catalogueOf, checkMappedColumns, describeRows } from './described-rows.js';
import { checkPostgresSpec, type PostgresSpec, postgresId, postgresName } from './postgres-address.js';

/** The rows of one statement, within one snapshot of the database. */
export function postgresSource(spec: PostgresSpec): Source {
  const address = checkPostgresSpec(spec);
  const name = postgresName(address, spec);
  return {
    name,
    id: postgresId(address, spec),
    mayBeMissing: true,
    async load(sink, options = {}) {
      options.signal?.throwIfAborted();
      const answerMsMax = spec.headersMsMax ?? UPSTREAM_HEADERS_MS_MAX;
      const database = await Database.open(address, { name, answerMsMax, signal: options.signal });
      try {
        return await loadRows(database, spec, name, sink, options);
      } catch (error) {
        options.signal?.throwIfAborted();
        throw error;
      } finally {
        database.close();
      }
    },
  };
}

async function loadRows(
  database: Database,
  spec: PostgresSpec,
  name: string,
  sink: RowSink,
  {
    rules = { identifiers: 'uuid' },
    previous = null,
    onVersion,
    onProgress,
    onRecord,
    onCatalogue,
    form,
    notes,
    signal,
  }: LoadOptions,
): Promise<LoadSummary | 'not-modified'> {
  await database.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  if (spec.snapshot !== undefined)
    await database.query(`SET TRANSACTION SNAPSHOT '${spec.snapshot.replaceAll("'", '')}'`);
  const version = await versionOf(database, spec.versionQuery, name);
  if (version !== null && version === previous) return 'not-modified';
  if (version !== null) onVersion?.(version);
  const rows = await describeRows(database, spec, name);
  // `inspect` examines the records to propose a map.
  const isServed = onRecord === undefined;
  if (!isServed) onCatalogue?.(await catalogueOf(database, rows));
  // Rooms have no times.
  checkMappedColumns(rows.columns, rules, name, isServed && form === undefined);
  await preparePatterns(rules);
  const table = new FieldTable(sink, 'postgresql', rules, name, { onRecord, form, notes });
  const copy = await binaryCopyOf(database, rows, table);
  const reader = new BinaryRows(name, table, copy.columns, copy.unserved, copy.isChecked);
  let bytesRead = 0;
  let bytesTold = 0;
  const tell = (): void => onProgress?.({ bytesRead, bytesTotal: null, records: reader.records });
  for await (const chunk of copyPieces(database, copy.statement, name, spec)) {
    signal?.throwIfAborted();
    bytesRead += chunk.length;
    reader.push(chunk);
    // The server sends pieces of 10 to 64 KB, too small for a message to another thread.
    if (bytesRead - bytesTold < READ_CHUNK_BYTES) continue;
    bytesTold = bytesRead;
    tell();
  }
  signal?.throwIfAborted();
  tell();
  reader.finish();
  table.finish();
  await database.query('COMMIT');
  return { format: 'postgresql', gzipped: false, bytesRead, version };
}

/** A version of 22 base64url characters, from the same snapshot of the database as the rows. */
async function versionOf(
  database: Database,
  versionQuery: string | undefined,
  name: string,
): Promise<string | null> {
  if (versionQuery === undefined) return null;
  const { rows, fields } = await database.texts(versionQuery).catch((error: Error) => {
    throw /multiple commands/.test(error.message) ? wrongVersion(name, 'it has several statements') : error;
  });
  if (fields.length === 0) throw wrongVersion(name, 'it gives no columns');
  const text = JSON.stringify([versionQuery, rows]);
  return shortDigest(text);
}

function wrongVersion(name: string, problem: string): LecternError {
  return cannotRead(name, `the version query cannot be used: ${problem}; expected one SELECT`);
}

async function* copyPieces(
  database: Database,
  statement: string,
  name: string,
  {
    headersMsMax: answerMsMax = UPSTREAM_HEADERS_MS_MAX,
    idleMsMax = UPSTREAM_IDLE_MS_MAX,
    totalMsMax = UPSTREAM_TOTAL_MS_MAX,
  }: PostgresSpec,
): AsyncGenerator<Buffer> {
  const { to } = await import('pg-copy-streams');
  const beganMs = performance.now();
  const stream = database.copy(to(statement));
  // The loop throws the error.
  stream.on('error', () => {});
  const pieces = stream[Symbol.asyncIterator]();
  let bytes = 0;
  try {
    for (;;) {
      const leftMs = Math.max(0, totalMsMax - (performance.now() - beganMs));
      const stageMs = bytes === 0 ? answerMsMax : idleMsMax;
      const { done, value } = await inTime(pieces.next(), Math.min(stageMs, leftMs), () => {
        const isLast = leftMs <= stageMs;
        const problem = isLast ? `it was not read whole within ${totalMsMax / 1000} s` : nothingCame(stageMs);
        return cannotRead(name, `${problem}, after ${bytes} bytes`);
      });
      if (done) return;
      bytes += value.length;
      if (bytes > UPSTREAM_BYTES_MAX) throw tooLarge(name, `it has more than ${UPSTREAM_BYTES_MAX} bytes`);
      yield value as Buffer;
    }
  } catch (error) {
    throw failureOf(error, name);
  }
}
