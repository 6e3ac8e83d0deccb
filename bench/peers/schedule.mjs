/**
 * The common part of the peers: the events, and the parameters and answers of GET /api/v1/schedule.
 */
import { readFileSync } from 'node:fs';

export const PATH = '/api/v1/schedule';

/** The fields of an answer, in its order. */
export const OUTPUT = [
  'id',
  'time',
  'endTime',
  'title',
  'roomId',
  'courseId',
  'studyGroup',
  'lecturer',
  'type',
  'groupId',
];

/** The parameters; each filters the field of the same name. */
export const FILTERS = ['roomId', 'lecturerId', 'studyGroup', 'courseId', 'type'];

const IDENTIFIERS = new Set(['id', 'roomId', 'courseId', 'groupId', 'lecturerId']);

/** JSON Schema of the query string, for Fastify. */
export const QUERY_SCHEMA = {
  type: 'object',
  properties: {
    ...Object.fromEntries(
      FILTERS.map((name) => [
        name,
        IDENTIFIERS.has(name) ? { type: 'string', format: 'uuid' } : { type: 'string', minLength: 1 },
      ]),
    ),
    startTime: { type: 'string', format: 'date-time' },
    endTime: { type: 'string', format: 'date-time' },
  },
};

/** JSON Schema of the answer; Fastify compiles the serialiser from it. */
export const ANSWER_SCHEMA = {
  type: 'array',
  items: {
    type: 'object',
    required: OUTPUT,
    properties: Object.fromEntries(
      OUTPUT.map((name) => [
        name,
        { type: 'string', nullable: name !== 'id' && name !== 'time' && name !== 'endTime' },
      ]),
    ),
  },
};

/**
 * The events of a file, one at a time, so that a database needs no second copy in memory.
 *
 * Each also has `startMs`, `endMs` and `lastMs`, the last whole millisecond in which it runs. An event
 * overlaps the window [start, end) exactly when startMs < end and lastMs >= start. So a zero-length event
 * lies in the window that holds its instant.
 *
 * @param {string} file valid NDJSON, as generate.mjs writes it
 */
export function* eventsOf(file) {
  const bytes = readFileSync(file);
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline === -1 ? bytes.length : newline;
    if (end > start) yield normalised(JSON.parse(bytes.toString('utf8', start, end)));
    start = end + 1;
  }
}

function normalised(record) {
  const startMs = Date.parse(record.time);
  const endMs = Date.parse(record.endTime);
  const event = {};
  for (const name of [...OUTPUT, 'lecturerId']) {
    const value = record[name] ?? null;
    event[name] = IDENTIFIERS.has(name) ? (value?.toLowerCase() ?? null) : (value?.normalize('NFC') ?? null);
  }
  event.time = new Date(startMs).toISOString();
  event.endTime = new Date(endMs).toISOString();
  return { ...event, startMs, endMs, lastMs: Math.max(startMs, endMs - 1) };
}

/** The order of an answer: time, endTime, id. */
export function inOrder(a, b) {
  return a.startMs - b.startMs || a.endMs - b.endMs || (a.id < b.id ? -1 : 1);
}

/** @returns the filter values of the event; identifiers in lower case */
export function filterValue(name, value) {
  return IDENTIFIERS.has(name) ? value.toLowerCase() : value;
}
