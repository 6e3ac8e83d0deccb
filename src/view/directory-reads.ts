import { jsonDirectory, messagePackDirectory } from '../encode/directory-entries.js';
import type { DirectoryName } from '../model/fields.js';
import type { FormatName } from '../model/format.js';
import { encodeDirectoryCursor, placeAfter } from '../query/cursor.js';
import { Directory } from '../query/directory.js';
import { executePlan } from '../query/execute.js';
import type { Parameters } from '../query/parameters.js';
import type { Plan } from '../query/plan.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Answer } from './answer.js';

export interface DirectoryPage {
  readonly directory: Directory;
  /** Events by entry. */
  readonly counts: Uint32Array;
  readonly entries: Uint32Array;
  /** Entries on all pages. */
  readonly total: number;
  readonly nextCursor: string | null;
}

export function directoryAnswer(page: DirectoryPage, format: FormatName): Answer {
  const { directory, counts, entries, total, nextCursor } = page;
  const encode = format === 'json' ? jsonDirectory : messagePackDirectory;
  return { total, count: entries.length, nextCursor, body: encode(directory, entries, counts) };
}

/** The directories of one snapshot. Each is sorted when it is first read. */
export class DirectoryReads {
  readonly #snapshot: Snapshot;
  readonly #directories = new Map<DirectoryName, Directory>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  find(name: DirectoryName, plan: Plan, { q, directoryCursor, limit }: Parameters): DirectoryPage {
    const directory = this.#directory(name);
    const counts = directory.count(isWhole(plan) ? null : executePlan(this.#snapshot, plan));
    const found = directory.find(counts, q);
    const from = directoryCursor === null ? 0 : placeAfter(directory, found, directoryCursor);
    const entries = found.subarray(from, from + limit);
    const isLast = from + entries.length === found.length;
    const nextCursor = isLast ? null : encodeDirectoryCursor(name, directory.keyOf(entries.at(-1) ?? 0));
    return { directory, counts, entries, total: found.length, nextCursor };
  }

  /** One line for the plan of a query: how the events of each entry are counted. */
  explain(name: DirectoryName, plan: Plan): string {
    const { size } = this.#directory(name);
    const way = isWhole(plan) ? 'the lengths of posting lists' : 'the codes of the events found';
    return `COUNT ${size} ${name} by ${way}`;
  }

  #directory(name: DirectoryName): Directory {
    let directory = this.#directories.get(name);
    if (directory === undefined) {
      directory = new Directory(this.#snapshot, name);
      this.#directories.set(name, directory);
    }
    return directory;
  }
}

function isWhole({ lead, window, checks }: Plan): boolean {
  return lead.kind === 'runs' && window.window === null && checks.length === 0;
}
