/**
 * Real timetables, in the data folder beside the checkout. They are not part of the project: tests use them
 * if present, and otherwise say that they are missing.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { SLOW } from '../hard/size.js';

const ENDING = '.ndjson.gz';
const PROJECT_ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The default path of the data folder; the environment variable LECTERN_DATA replaces it. */
export const DATA_FOLDER: string = process.env.LECTERN_DATA ?? join(PROJECT_ROOT, '..', 'shared', 'data');

export interface DataSet {
  /** The file's name without its ending, such as `enseeiht-2019`. */
  readonly name: string;
  readonly path: string;
}

/** `npm test` reads only small data sets, `npm run test:slow` all of them. */
const SMALL_BYTES_MAX = 1_000_000;

/** The data sets of the folder by name; none if the folder does not exist. */
export function findDataSets(): DataSet[] {
  if (!existsSync(DATA_FOLDER)) return [];
  return readdirSync(DATA_FOLDER)
    .filter((file) => file.endsWith(ENDING))
    .sort()
    .map((file) => ({ name: file.slice(0, -ENDING.length), path: join(DATA_FOLDER, file) }))
    .filter(({ path }) => SLOW || statSync(path).size <= SMALL_BYTES_MAX);
}

/** Why a test is skipped without real data. */
export const NO_DATA: string = `real data not found: no *${ENDING} in ${DATA_FOLDER} (LECTERN_DATA names another folder)`;

/** The unchanged records of a data set, decoded without code of the project. */
export function recordsOf(dataSet: DataSet): Record<string, unknown>[] {
  const text = gunzipSync(readFileSync(dataSet.path)).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
