/**
 * The load of each input in the tables ends with a result, or with an error that says why. Its processor time grows with
 * its size: four times the bytes take at most eight times the time.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack } from 'msgpackr';
import t, { test } from 'tap';
import { parseRevocations } from '../../src/auth/feed-address.js';
import { parseEnrolments } from '../../src/auth/identity.js';
import { LecternError } from '../../src/base/errors.js';
import { readTimetableFile } from '../../src/options/timetable-file.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { RefusedLoad } from '../../src/snapshot/intake-bounds.js';
import { readRecords } from '../../src/source/formats/read-records.js';
import { filesOfGlob } from '../../src/source/found-files.js';
import { parseLinks } from '../../src/source/http.js';
import { readRooms } from '../../src/source/rooms-file.js';
import type { Source } from '../../src/source/source.js';
import { withOwnRules } from '../../src/source/spec.js';
import { size } from '../hard/size.js';
import { collectBytes, inPieces, memorySource } from '../source/collect.js';
import { HOSTILE, type HostileSource, MARKS, repeated } from './hostile-sources.js';

const BYTES = size(60_000, 225_000);
const GROWTH_MAX = 8;
/** A shorter time is noise: compiling the code takes as long. */
const FLOOR_MS = 12;
/** The speed of a machine changes, so both sizes are measured beside each other, and the median of the rounds counts. */
const ROUNDS_MAX = 11;
const TIMEOUT = { timeout: size(900_000, 1_800_000) };
const LOAD_BYTES_MAX = 1024 ** 3;

type Work = () => Promise<unknown>;
/** Makes an input of about this many bytes. */
type Hostile = (bytes: number) => Work;

const folder = mkdtempSync(join(tmpdir(), 'lectern-hostile-'));
t.teardown(() => rmSync(folder, { recursive: true }));
let files = 0;

async function cpuMsOf(work: Work): Promise<number> {
  const began = process.cpuUsage();
  try {
    await work();
  } catch (error) {
    // Any other error would be a fault of the service.
    if (!(error instanceof LecternError || error instanceof RefusedLoad)) throw error;
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

/** How many times as long an input takes that is four times as large. */
async function growthOf(hostile: Hostile): Promise<number> {
  const [one, four] = [hostile(BYTES), hostile(4 * BYTES)];
  const rounds: number[] = [];
  const median = (): number => rounds.toSorted((a, b) => a - b)[rounds.length >> 1] as number;
  do {
    const small = await cpuMsOf(one);
    rounds.push((await cpuMsOf(four)) / Math.max(small, FLOOR_MS));
  } while (median() > GROWTH_MAX && rounds.length < ROUNDS_MAX);
  return median();
}

function loadOf({ make, rules, pieceBytes = 65_536 }: HostileSource): Hostile {
  return (bytes) => {
    // Reading a piece of one byte takes as long as reading 40 bytes of a record.
    const content = make(pieceBytes === 1 ? bytes / 8 : bytes);
    const source: Source = {
      name: 'hostile',
      load: async (sink, options = {}) => {
        const pieces = inPieces(content, pieceBytes);
        const read = await readRecords(pieces, sink, { ...options, sourceName: 'hostile', bytesTotal: null });
        return { ...read, version: null };
      },
    };
    const bounds = { eventsMax: null, memoryBytesMax: LOAD_BYTES_MAX, growth: null };
    return () => loadImage(source, { identifiers: 'uuid', ...rules }, { bounds });
  };
}

function fileOf(content: (bytes: number) => string, read: (path: string) => Promise<unknown>): Hostile {
  return (bytes) => {
    const path = join(folder, `file-${++files}`);
    writeFileSync(path, content(bytes));
    return () => read(path);
  };
}

const readLecturers = (path: string): Promise<unknown> =>
  withOwnRules(memorySource([]), { lecturerIds: path }).load({ row() {}, fault() {} });

/** What sources send besides records, and files of the configuration. */
const OTHERS: Readonly<Record<string, Hostile>> = {
  'rooms: names of marks': fileOf(
    (bytes) => JSON.stringify([{ id: 'x', name: repeated(bytes, MARKS) }]),
    (path) => readRooms(path, { identifiers: 'derived' }),
  ),
  'rooms: faults': fileOf(
    (bytes) => `[${repeated(bytes, '{"id":7,"name":8},')}1]`,
    (path) => readRooms(path, { identifiers: 'uuid' }),
  ),
  'timetable file: a long name': fileOf(
    (bytes) => JSON.stringify({ sources: [{ from: 'x', fields: { [repeated(bytes, 'titel')]: 'x' } }] }),
    readTimetableFile,
  ),
  'timetable file: braces': fileOf(
    (bytes) => JSON.stringify({ sources: [{ from: 'x', fields: { title: repeated(bytes, '{{') } }] }),
    readTimetableFile,
  ),
  'timetable file: open brackets': fileOf((bytes) => `sources: ${repeated(bytes, '[')}`, readTimetableFile),
  'timetable file: anchors': fileOf((bytes) => `a: ${repeated(bytes, '&a ')}`, readTimetableFile),
  'timetable file: quotes': fileOf((bytes) => `a: "${repeated(bytes, '\\x41')}`, readTimetableFile),
  'lecturers: a name of marks': fileOf((bytes) => `{"${repeated(bytes, MARKS)}":"x"}`, readLecturers),
  'lecturers: open brackets': fileOf((bytes) => `{"a":${repeated(bytes, '[')}`, readLecturers),
  'enrolments: a value of marks': (bytes) => {
    const map = { alice: { studyGroup: [repeated(bytes, MARKS)] } };
    return async () => parseEnrolments(map, 'derived', 'enrolments');
  },
  'enrolments: many values': (bytes) => {
    const map = { alice: { studyGroup: Array.from({ length: bytes / 8 }, (_, n) => `G${n}`) } };
    return async () => parseEnrolments(map, 'derived', 'enrolments');
  },
  'revocations: a long time': (bytes) => {
    const map = { alice: `2026-09-14T08:00:00.${repeated(bytes, '0')}Z`, bob: repeated(bytes, '2') };
    return async () => parseRevocations(map, 'revocations');
  },
  'links: blanks and commas': (bytes) => async () => parseLinks(`<a>${repeated(bytes, ', ,\t')}`),
  'links: parameters': (bytes) => async () => parseLinks(`<a>${repeated(bytes, '; a="\\b"')}`),
  'links: open quotes': (bytes) => async () => parseLinks(`<a>${repeated(bytes, ';a="')}`),
  'links: blanks before nothing': (bytes) => async () => parseLinks(`<a>${repeated(bytes, ' \t')}x`),
  'folder: many names': (bytes) => {
    const path = join(folder, `names-${bytes}`);
    mkdirSync(path);
    for (let n = 0; n < bytes / 200; n++) writeFileSync(join(path, `${n}.json`), '');
    return () => filesOfGlob(`${path}/*{0,1,2}*[0-9]*.json`);
  },
};

test('every input ends, and its time grows with its size', TIMEOUT, async (t) => {
  const all: (readonly [string, Hostile])[] = [
    ...HOSTILE.map((each) => [each.name, loadOf(each)] as const),
    ...Object.entries(OTHERS),
  ];
  for (const [name, hostile] of all) {
    const growth = await growthOf(hostile);
    t.ok(growth <= GROWTH_MAX, `${name}: four times as much takes ${growth.toFixed(1)} times as long`);
  }
});

test('names of properties that V8 hashes by their length are rejected, long texts are not', async (t) => {
  const long = 'x'.repeat(16_384);
  const record = (name: string, text: string): object => ({ id: 'a', more: { [name]: text } });
  for (const [name, text, count] of [
    [long, 'a', 0],
    [long.slice(1), `"${long}":\\`, 1],
  ] as const) {
    const value = record(name, text);
    const calendar = `BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260914T080000Z\n${name}:${text}\nEND:VEVENT\nEND:VCALENDAR\n`;
    for (const bytes of [`${JSON.stringify(value)}\n`, JSON.stringify([value]), pack([value]), calendar]) {
      const { records, rejections } = await collectBytes(bytes);
      t.equal(records.length, count);
      if (count === 0)
        t.match(rejections[0]?.detail, /name (of a property )?has 16384 characters; expected at most 16383/);
    }
  }
});
