/**
 * What the names of timetable columns mean. `column-names.json` has the usual names by language; to add a language, add a
 * block there. Case, accents and punctuation do not count; earlier names of a list are more certain.
 */
import { createRequire } from 'node:module';

/**
 * What a column means. Some roles are not fields of events: they are parts of a time, such as `period`, the number of a
 * lesson in the day, or `other`, which stands for what is easily mistaken for a field, such as the room that was
 * requested or its capacity.
 */
export type ColumnRole =
  | 'id'
  | 'startDate'
  | 'endDate'
  | 'start'
  | 'end'
  | 'duration'
  | 'weekday'
  | 'weeks'
  | 'period'
  | 'title'
  | 'courseId'
  | 'building'
  | 'roomId'
  | 'studyGroup'
  | 'lecturer'
  | 'type'
  | 'other';

const LANGUAGES = Object.values(
  createRequire(import.meta.url)('./column-names.json') as Record<
    string,
    Partial<Record<ColumnRole, string>>
  >,
);

/** Longer names are cut: they mean nothing, and a long run of marks would take quadratic time. */
const NAME_UNITS_READ = 256;

/** `course_startTime` becomes `course start time`. */
export function plainName(name: string): string {
  return name
    .slice(0, NAME_UNITS_READ)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replaceAll('\u00df', 'ss')
    .normalize('NFD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replaceAll('ı', 'i')
    .replaceAll('ł', 'l')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

const NAMES: ReadonlyMap<ColumnRole, readonly (readonly string[])[]> = new Map(
  [...new Set(LANGUAGES.flatMap((language) => Object.keys(language) as ColumnRole[]))].map((role) => [
    role,
    LANGUAGES.flatMap(({ [role]: names }) => (names === undefined ? [] : [names.split(', ').map(plainName)])),
  ]),
);

const CERTAINTY_EXACT = 1000;
/** A name that says what a column is, alone. */
export const CERTAINTY_SURE = 900;
const CERTAINTY_WITHIN = 500;
const CERTAINTY_PART = 100;
/** Chinese and Japanese write no spaces between words. */
const WITHOUT_SPACES = /^[\p{Script=Han}\p{Script=Katakana}]{2,}$/u;

/** How certain it is that a name has the role: 0 for not at all. */
export function certaintyOf(name: string, role: ColumnRole): number {
  const plain = plainName(name);
  let best = 0;
  for (const names of NAMES.get(role) ?? []) {
    for (const [rank, word] of names.entries()) {
      let certainty = 0;
      if (plain === word) certainty = CERTAINTY_EXACT - rank;
      else if (` ${plain} `.includes(` ${word} `)) {
        // A short word within a long name says little.
        certainty = CERTAINTY_WITHIN - rank - 10 * (plain.split(' ').length - word.split(' ').length);
      } else if (WITHOUT_SPACES.test(word) && plain.includes(word)) certainty = CERTAINTY_PART + 100 - rank;
      // Compounds such as Unterrichtsbeginn.
      else if (word.length >= 4 && (plain.endsWith(word) || plain.startsWith(word)))
        certainty = CERTAINTY_PART - rank;
      best = Math.max(best, certainty);
    }
  }
  return best;
}

/** The item of the greatest weight above zero; of several, the first. */
export function likeliest<Item>(items: readonly Item[], weigh: (item: Item) => number): Item | undefined {
  let found: Item | undefined;
  let most = 0;
  for (const item of items) {
    const weight = weigh(item);
    if (weight <= most) continue;
    most = weight;
    found = item;
  }
  return found;
}
