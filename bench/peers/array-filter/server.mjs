/** Bare node:http and an array, without an index. Arguments: source file, secret. */
import { createServer } from 'node:http';
import { underMeasurement } from '../../servers/measured.mjs';
import { eventsOf, FILTERS, filterValue, inOrder, OUTPUT, PATH } from '../schedule.mjs';
import { verifierOf } from '../tokens.mjs';

const [source, secret] = process.argv.slice(2);
const verify = verifierOf(secret);

// The values to match are stored beside each event, so answers need no copies.
const entries = [...eventsOf(source)].sort(inOrder).map((event) => ({
  event: Object.fromEntries(OUTPUT.map((name) => [name, event[name]])),
  startMs: event.startMs,
  lastMs: event.lastMs,
  ...Object.fromEntries(FILTERS.map((name) => [name, event[name]])),
}));

function answer(url, res) {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  if (pathname !== PATH) {
    res.writeHead(404).end();
    return;
  }
  const filters = [];
  for (const name of FILTERS) {
    const value = searchParams.get(name);
    if (value !== null) filters.push([name, filterValue(name, value)]);
  }
  const startTime = searchParams.get('startTime');
  const endTime = searchParams.get('endTime');
  const startMs = startTime === null ? -Infinity : Date.parse(startTime);
  const endMs = endTime === null ? Infinity : Date.parse(endTime);
  const found = entries
    .filter(
      (entry) =>
        entry.startMs < endMs &&
        entry.lastMs >= startMs &&
        filters.every(([name, value]) => entry[name] === value),
    )
    .map(({ event }) => event);
  const body = JSON.stringify(found);
  res.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  res.end(body);
}

underMeasurement(
  createServer((req, res) => {
    const isGood = verify(req.headers.authorization);
    if (isGood === true) {
      answer(req.url, res);
      return;
    }
    isGood.then((isGoodNow) => {
      if (isGoodNow) answer(req.url, res);
      else res.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
    });
  }),
);
