import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { generateFile } from './generate.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/**
 * A real timetable, which is not part of the project. It is in the data folder beside the checkout, or where
 * LECTERN_DATA says.
 */
const REAL = 'rpi-fall-2024';
const REAL_FILE = join(process.env.LECTERN_DATA ?? join(ROOT, '..', 'shared', 'data'), `${REAL}.ndjson.gz`);

/** The message if the real timetable is needed but missing. */
export const WITHOUT_REAL =
  `${REAL_FILE} is not there. It is the timetable of Rensselaer Polytechnic Institute, fall 2024, as github.com/YACS-RCOS/yacs.n ` +
  'has it, and no part of the project: put it there, or name its folder with LECTERN_DATA.';

/** Generated sets in three sizes, one where every event has its own slot, and a real one. */
export const SETS = ['small', 'medium', 'large', 'distinct', REAL];

/** The sets of events, each made on its first use. */
export class Sets {
  #folder;
  #events;
  #made = new Map();

  /**
   * @param {string} folder folder of the files
   * @param {Record<string, number>} events number of events of each set
   */
  constructor(folder, events) {
    this.#folder = folder;
    this.#events = events;
  }

  /**
   * @param {string} name
   * @param {number} [events] of a set that is not among {@link SETS}
   * @returns {Promise<string | null>} the file of a set; null if it is missing
   */
  async file(name, events = this.#events[name]) {
    if (name === REAL) return existsSync(REAL_FILE) ? REAL_FILE : null;
    if (!this.#made.has(name)) this.#made.set(name, this.#make(name, events));
    return this.#made.get(name);
  }

  async #make(name, events) {
    const file = join(this.#folder, `${name}.ndjson`);
    await generateFile(file, { events, seed: 1, distinctSlots: name === 'distinct' });
    return file;
  }
}

/**
 * The events of a file of NDJSON, in its order. One string for each line, because a large set exceeds the
 * longest string of Node.
 */
export function readEvents(file) {
  const content = readFileSync(file);
  const bytes = file.endsWith('.gz') ? gunzipSync(content) : content;
  const events = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline === -1 ? bytes.length : newline;
    if (end > start) events.push(JSON.parse(bytes.toString('utf8', start, end)));
    start = end + 1;
  }
  return events;
}
