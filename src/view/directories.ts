import { jsonDirectory, messagePackDirectory } from '../encode/named-entries.js';
import type { DirectoryName } from '../model/fields.js';
import { encodeDirectoryCursor, placeAfter } from '../query/cursor.js';
import { Directory } from '../query/directory.js';
import { executePlan } from '../query/execute.js';
import type { Parameters } from '../query/parameters.js';
import type { Plan } from '../query/plan.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Encode } from './answer.js';

/** The directories of one snapshot. Each directory is sorted on first use. */
export class Directories {
  readonly #snapshot: Snapshot;
  readonly #directories = new Map<DirectoryName, Directory>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  find(name: DirectoryName, plan: Plan, { q, directoryCursor, limit }: Parameters): Encode {
    const directory = this.of(name);
    const counted = directory.count(isWhole(plan) ? null : executePlan(this.#snapshot, plan));
    const found = directory.find(counted, q);
    const total = found.length;
    const from = directoryCursor === null ? 0 : placeAfter(directory, found, directoryCursor);
    const page = found.subarray(from, from + limit);
    const isLast = from + page.length === total;
    const nextCursor = isLast ? null : encodeDirectoryCursor(name, directory.keyOf(page.at(-1) ?? 0));
    return (format) => {
      const encode = format === 'json' ? jsonDirectory : messagePackDirectory;
      return { total, count: page.length, nextCursor, body: encode(directory, page, counted.counts) };
    };
  }

  /** One line for the plan of a query: how the events of each entry are counted. */
  explain(name: DirectoryName, plan: Plan): string {
    const { size } = this.of(name);
    const way = isWhole(plan) ? 'the lengths of posting lists' : 'the codes of the events found';
    return `COUNT ${size} ${name} by ${way}`;
  }

  of(name: DirectoryName): Directory {
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
