/**
 * Loads a file and does something else with the same data, in turns and in one process, whose code is warm. Prints
 * JSON: the processor times of both in milliseconds, one for each round, without the first rounds.
 *
 *     node compare-loads.mjs <file> <rounds> <rounds before> [<other file> [<rules> <other rules>]]
 *
 * The other work is loading the other file or, if none is given or its name is empty, only parsing the same one: a
 * calendar with ical.js, other files with JSON.parse, and these are only read to rows. Rules are JSON, and by default
 * identifiers are UUIDs.
 */
import { readFileSync } from 'node:fs';
import ICAL from 'ical.js';
import { loadImage } from '../../dist/refresh/thread/load-image.js';
import { fileSource } from '../../dist/source/file.js';

const [, , file, rounds, before, other, rules, otherRules] = process.argv;
const USUAL = '{"identifiers":"uuid"}';
const result = { events: 0, ownMs: [], otherMs: [] };

async function load(path, given = USUAL) {
  const { image } = await loadImage(fileSource(path), JSON.parse(given));
  result.events ||= image.summary.events;
  if (image.summary.events !== result.events) throw new Error(`${path} has ${image.summary.events} events`);
}

/** Reads a file without a timetable made of its rows. */
async function readRows(path, given) {
  let rows = 0;
  const fault = ({ message }) => {
    throw new Error(`${path}: ${message}`);
  };
  await fileSource(path).load({ row: () => rows++, fault }, { rules: JSON.parse(given) });
  if (rows === 0) throw new Error(`${path} has no rows`);
}

async function cpuMs(task) {
  const began = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

const isParsed = (other ?? '') === '';
const text = isParsed ? readFileSync(file, 'utf8') : '';
const isCalendar = file.endsWith('.ics');
const parse = isCalendar ? ICAL.parse : JSON.parse;
for (let round = -Number(before); round < Number(rounds); round++) {
  const otherMs = await cpuMs(() => (isParsed ? parse(text) : load(other, otherRules)));
  const ownMs = await cpuMs(() => (isParsed && !isCalendar ? readRows : load)(file, rules));
  if (round < 0) continue;
  result.otherMs.push(otherMs);
  result.ownMs.push(ownMs);
}
process.stdout.write(JSON.stringify(result));
