import pg from 'pg';
import { eventsOf, FILTERS, OUTPUT } from '../schedule.mjs';

/** Enough connections to keep two cores busy; more would cause more context switches. */
const CONNECTIONS = 4;
/** Sets with longer events are searched by range. */
const LONG_MS = 7 * 24 * 3_600_000;
const BATCH = 5000;
const quoted = (name) => `"${name}"`;
const TYPES = new Map([
  ['id', 'uuid NOT NULL'],
  ['roomId', 'uuid'],
  ['courseId', 'uuid'],
  ['groupId', 'uuid'],
  ['lecturerId', 'uuid'],
  ['startMs', 'int8 NOT NULL'],
  ['endMs', 'int8 NOT NULL'],
  ['lastMs', 'int8 NOT NULL'],
]);
const COLUMNS = [...OUTPUT, 'lecturerId', 'startMs', 'endMs', 'lastMs'].map(
  (name) => `${quoted(name)} ${TYPES.get(name) ?? 'text'}`,
);

/** The events in a table of PostgreSQL, with indexes for each filter, for start times and for ranges. */
export class Store {
  #pool;
  #longestMs = 0;
  #queries = new Map();

  constructor(pool) {
    this.#pool = pool;
  }

  /**
   * @param {object} connection as node-postgres takes it
   * @param {string} source NDJSON file
   */
  static async load(connection, source) {
    // Connections stay open, because a new one would have to plan every statement again.
    const store = new Store(new pg.Pool({ ...connection, max: CONNECTIONS, idleTimeoutMillis: 0 }));
    // They close when the server ends.
    store.#pool.on('error', () => {});
    await store.#fill(source);
    return store;
  }

  async #fill(source) {
    const run = (sql, values) => this.#pool.query(sql, values);
    await run(`CREATE UNLOGGED TABLE loaded (${COLUMNS.join(', ')})`);
    let batch = [];
    const flush = () => {
      const json = JSON.stringify(batch);
      batch = [];
      return run('INSERT INTO loaded SELECT * FROM json_populate_recordset(NULL::loaded, $1)', [json]);
    };
    for (const event of eventsOf(source)) {
      this.#longestMs = Math.max(this.#longestMs, event.endMs - event.startMs);
      if (batch.push(event) === BATCH) await flush();
    }
    await flush();
    // Rows are stored in the order of the answer, so that a window without filters lies in few pages.
    await run(`CREATE UNLOGGED TABLE events AS SELECT *, int8range("startMs", "lastMs", '[]') AS during
      FROM loaded ORDER BY "startMs", "endMs", id`);
    await run('DROP TABLE loaded');
    for (const name of FILTERS) {
      await run(`CREATE INDEX ON events (${quoted(name)}, "startMs", "endMs", id)`);
    }
    await run('CREATE INDEX ON events ("startMs", "endMs", id)');
    await run('CREATE INDEX ON events USING gist (during)');
    await run('VACUUM (FREEZE, ANALYZE) events');
  }

  /**
   * @param {string[]} filters names of fields, in a fixed order
   * @param {string[]} values of these fields
   * @param {number | undefined} startMs of the window
   * @param {number | undefined} endMs of the window
   * @returns rows in the order of the answer
   */
  async find(filters, values, startMs, endMs) {
    const hasStart = startMs !== undefined;
    const hasEnd = endMs !== undefined;
    const bound = [...values];
    if (this.#searchesRanges) {
      if (hasStart || hasEnd) bound.push(startMs ?? null, endMs ?? null);
    } else {
      if (hasStart) bound.push(startMs, startMs - this.#longestMs);
      if (hasEnd) bound.push(endMs);
    }
    const { rows } = await this.#pool.query({ ...this.#query(filters, hasStart, hasEnd), values: bound });
    return rows;
  }

  /**
   * A running event began at most the length of the longest event before the window. For short events this
   * gives a range of start times, at less than half the cost of a search among ranges; for long ones it would
   * be most of the table.
   */
  get #searchesRanges() {
    return this.#longestMs > LONG_MS;
  }

  #query(filters, hasStart, hasEnd) {
    const name = `${filters.join()} ${hasStart} ${hasEnd}`;
    let query = this.#queries.get(name);
    if (query === undefined) {
      let n = 0;
      const conditions = filters.map((filter) => `${quoted(filter)} = $${++n}`);
      if (this.#searchesRanges) {
        if (hasStart || hasEnd) conditions.push(`during && int8range($${++n}, $${++n})`);
      } else {
        if (hasStart) conditions.push(`"lastMs" >= $${++n}`, `"startMs" >= $${++n}`);
        if (hasEnd) conditions.push(`"startMs" < $${++n}`);
      }
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const text = `SELECT ${OUTPUT.map(quoted).join(', ')} FROM events ${where} ORDER BY "startMs", "endMs", id`;
      query = { name, text };
      this.#queries.set(name, query);
    }
    return query;
  }
}
