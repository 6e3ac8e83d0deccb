import Database from 'better-sqlite3';
import { eventsOf, FILTERS, OUTPUT } from '../schedule.mjs';

const COLUMNS = [...OUTPUT, 'lecturerId', 'startMs', 'endMs', 'lastMs'];

/** Rows are arrays: better-sqlite3 takes longer to name the columns. */
function eventOf(row) {
  return {
    id: row[0],
    time: row[1],
    endTime: row[2],
    title: row[3],
    roomId: row[4],
    courseId: row[5],
    studyGroup: row[6],
    lecturer: row[7],
    type: row[8],
    groupId: row[9],
  };
}

/** The events in a SQLite database in memory, with an index for each filter in the order of the answer. */
export class Store {
  #database = new Database(':memory:');
  #statements = new Map();
  #longestMs = 0;

  /** @param {string} source NDJSON file */
  constructor(source) {
    const type = (name) => (name.endsWith('Ms') ? 'INTEGER NOT NULL' : 'TEXT');
    this.#database.exec(`CREATE TABLE events (${COLUMNS.map((name) => `${name} ${type(name)}`).join(', ')})`);
    const insert = this.#database.prepare(
      `INSERT INTO events VALUES (${COLUMNS.map((name) => `@${name}`).join(', ')})`,
    );
    this.#database.transaction(() => {
      for (const event of eventsOf(source)) {
        insert.run(event);
        this.#longestMs = Math.max(this.#longestMs, event.endMs - event.startMs);
      }
    })();
    for (const name of FILTERS) {
      this.#database.exec(`CREATE INDEX events_${name} ON events (${name}, startMs, endMs, id, lastMs)`);
    }
    this.#database.exec('CREATE INDEX events_time ON events (startMs, endMs, id, lastMs)');
    this.#database.exec('ANALYZE');
    // With histograms a statement is planned again for each set of values (sqlite.org/c3ref/prepare.html),
    // which takes longer than most of these queries. The averages suffice for choosing the index.
    this.#database.exec('DROP TABLE sqlite_stat4; ANALYZE sqlite_schema');
    this.#database.pragma('query_only = ON');
  }

  /**
   * @param {string[]} filters names of fields, in a fixed order
   * @param {string[]} values of these fields
   * @param {number | undefined} startMs of the window
   * @param {number | undefined} endMs of the window
   * @returns events in the order of the answer
   */
  find(filters, values, startMs, endMs) {
    const bound = [...values];
    // A running event began at most the length of the longest event before the window: the index is read from there.
    if (startMs !== undefined) bound.push(startMs, startMs - this.#longestMs);
    if (endMs !== undefined) bound.push(endMs);
    return this.#statement(filters, startMs !== undefined, endMs !== undefined)
      .all(bound)
      .map(eventOf);
  }

  #statement(filters, hasStart, hasEnd) {
    const key = `${filters.join()} ${hasStart} ${hasEnd}`;
    let statement = this.#statements.get(key);
    if (statement === undefined) {
      const conditions = filters.map((name) => `${name} = ?`);
      if (hasStart) conditions.push('lastMs >= ?', 'startMs >= ?');
      if (hasEnd) conditions.push('startMs < ?');
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      statement = this.#database.prepare(
        `SELECT ${OUTPUT.join(', ')} FROM events ${where} ORDER BY startMs, endMs, id`,
      );
      statement.raw();
      this.#statements.set(key, statement);
    }
    return statement;
  }
}
