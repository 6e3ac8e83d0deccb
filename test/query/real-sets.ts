/**
 * Real timetables, in the data folder beside the checkout. They are not part of the project: tests use them where they
 * are, and say so where they are not.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const ENDING = '.ndjson.gz';
const PROJECT_ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The default path of the data folder; the environment variable LECTERN_DATA replaces it. */
export const DATA_FOLDER: string = process.env.LECTERN_DATA ?? join(PROJECT_ROOT, '..', 'shared', 'data');

export interface DataSet {
  /** The file's name without its ending, as in `enseeiht-2019`. */
  readonly name: string;
  readonly path: string;
}

/** Every data set of the folder, by name; none where there is no such folder. */
export function findDataSets(): DataSet[] {
  if (!existsSync(DATA_FOLDER)) return [];
  return readdirSync(DATA_FOLDER)
    .filter((file) => file.endsWith(ENDING))
    .sort()
    .map((file) => ({ name: file.slice(0, -ENDING.length), path: join(DATA_FOLDER, file) }));
}

/** Why a test is not run where there is no real data. */
export const NO_DATA: string = `real data not found: no *${ENDING} in ${DATA_FOLDER} (LECTERN_DATA names another folder)`;

/** The records of a data set as they stand in the file, decoded with nothing of the project. */
export function recordsOf(dataSet: DataSet): Record<string, unknown>[] {
  const text = gunzipSync(readFileSync(dataSet.path)).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
