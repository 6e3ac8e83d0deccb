/** The figures in the documents, between markers in their tables. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `<!-- figure: name -->text<!-- end -->` on one line, as a table's cell requires. */
const MARKED = /<!-- figure: ([a-z0-9-]+) -->(.*?)<!-- end -->/g;
/** The documents that have such tables. */
export const DOCUMENTS = ['docs/reliability.md', 'docs/security.md'];
const FIELDS = ['measured', 'date', 'commit', 'node'];

/**
 * @param {string} folder
 * @returns {Map<string, object>} figures by name
 * @throws Error for a malformed file
 */
export function readFigures(folder) {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
  return new Map(
    files.sort().map((file) => {
      let figure;
      try {
        figure = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      } catch (error) {
        throw new Error(`${file} is not JSON: ${error.message}`, { cause: error });
      }
      for (const field of FIELDS) {
        if (typeof figure[field] !== 'string' || figure[field] === '')
          throw new Error(`${file} has no "${field}"`);
      }
      if (typeof figure.machine?.cores !== 'number')
        throw new Error(`${file} does not say of which machine it is`);
      return [file.slice(0, -'.json'.length), figure];
    }),
  );
}

/** The text in the table: the figure and its provenance. The page says the version of Node and the machine. */
export function cellOf({ measured, date, commit, isChanged }) {
  return `${measured} (${date.slice(0, 10)}, ${commit.slice(0, 7)}${isChanged ? ' with changes' : ''})`;
}

/** The names of all places for figures, in order. */
export function placesIn(text) {
  return [...text.matchAll(MARKED)].map(([, name]) => name);
}

/**
 * The documents with all figures at their markers. A marker without a figure keeps its text until there is
 * one.
 *
 * @param {readonly string[]} texts
 * @param {Map<string, object>} figures
 * @throws Error if a figure has no marker, or two
 */
export function withFigures(texts, figures) {
  const places = texts.flatMap(placesIn);
  for (const name of figures.keys()) {
    const count = places.filter((place) => place === name).length;
    if (count !== 1) throw new Error(`the figure ${name} has ${count} places in the documents; expected one`);
  }
  return texts.map((text) =>
    text.replace(MARKED, (marked, name) => {
      const figure = figures.get(name);
      return figure === undefined ? marked : `<!-- figure: ${name} -->${cellOf(figure)}<!-- end -->`;
    }),
  );
}
