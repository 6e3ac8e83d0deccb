/** A plain array in memory, filtered for each request: what one writes in an afternoon. Argument: source file. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { underMeasurement } from './measured.mjs';

const OUTPUT = [
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
const events = readFileSync(process.argv[2], 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
  .sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : a.id < b.id ? -1 : 1));

underMeasurement(
  createServer((req, res) => {
    const query = new URL(req.url, 'http://a').searchParams;
    const [from, to] = [query.get('startTime'), query.get('endTime')].map(
      (text) => text && new Date(text).toISOString(),
    );
    const filters = [...query].filter(([name]) => name !== 'startTime' && name !== 'endTime');
    const found = events.filter(
      (event) =>
        filters.every(([name, value]) => event[name] === value) &&
        (to === null || event.time < to) &&
        (from === null || event.endTime > from),
    );
    res.setHeader('Content-Type', 'application/json');
    res.end(
      JSON.stringify(found.map((event) => Object.fromEntries(OUTPUT.map((name) => [name, event[name]])))),
    );
  }),
);
