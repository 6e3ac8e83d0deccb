/** The slow version of GET /schedule/rooms, /courses, /groups and /lecturers, by a linear scan. */
import type { DirectoryEntry, NormalisedEvent } from '../../src/base/model/event.js';
import type { DirectoryName, NamedFieldName } from '../../src/base/model/fields.js';
import { compareText } from './events.js';
import { nameOracle } from './names.js';
import { matches, type OracleQuery } from './schedule.js';

const KEYS: Readonly<Record<DirectoryName, readonly [NamedFieldName, 'studyGroup' | 'lecturer' | null]>> = {
  rooms: ['roomId', null],
  courses: ['courseId', null],
  groups: ['groupId', 'studyGroup'],
  lecturers: ['lecturerId', 'lecturer'],
};

/** Changes the case of each character alone, because in a text it would depend on the neighbours. */
function foldedText(text: string): string {
  return [...text.normalize('NFD').replace(/\p{M}/gu, '')]
    .map((character) => character.toLowerCase().toUpperCase().toLowerCase().replace('ς', 'σ'))
    .join('');
}

function compareOrNull(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareText(a, b);
}

export function compareEntries(a: DirectoryEntry, b: DirectoryEntry): number {
  return compareOrNull(a.name, b.name) || compareOrNull(a.id, b.id);
}

/**
 * Names come from the whole set, numbers of events from the query.
 *
 * @param q a part of the id or the name, as a client writes it
 * @param nameOf for large sets with known names
 */
export function directoryOracle(
  events: readonly NormalisedEvent[],
  directory: DirectoryName,
  query: OracleQuery,
  q: string | null = null,
  nameOf: (id: string) => string | null = (id) => nameOracle(events, KEYS[directory][0], id),
): DirectoryEntry[] {
  const [idField, textField] = KEYS[directory];
  const byKey = new Map<string, { id: string | null; name: string | null; events: number }>();
  for (const event of events) {
    const id = event[idField];
    const text = textField === null ? null : event[textField];
    if (!matches(event, query) || (id === null && (text === null || text === ''))) continue;
    const key = JSON.stringify([id, id === null ? text : null]);
    const entry = byKey.get(key);
    if (entry !== undefined) entry.events++;
    else byKey.set(key, { id, name: id === null ? text : nameOf(id), events: 1 });
  }
  const isMatch = (text: string | null): boolean =>
    q === null || (text !== null && foldedText(text).includes(foldedText(q)));
  const found = [...byKey.values()]
    .filter(({ id, name }) => isMatch(id) || isMatch(name))
    .sort(compareEntries);
  return directory === 'groups' ? withStudyGroups(found, events, nameOf) : found;
}

/** If the name of any group is no studyGroup, each entry tells its own. @param events in order */
function withStudyGroups(
  found: readonly DirectoryEntry[],
  events: readonly NormalisedEvent[],
  nameOf: (id: string) => string | null,
): DirectoryEntry[] {
  const texts = new Set(events.map(({ studyGroup }) => studyGroup));
  const firsts = new Map<string, NormalisedEvent>();
  for (const event of events)
    if (event.groupId !== null && !firsts.has(event.groupId)) firsts.set(event.groupId, event);
  const names = [...firsts.keys()].map(nameOf);
  if (names.every((name) => name === null || texts.has(name))) return [...found];
  return found.map((entry) => ({
    ...entry,
    studyGroup:
      entry.name !== null && texts.has(entry.name)
        ? entry.name
        : (firsts.get(entry.id ?? '')?.studyGroup ?? null),
  }));
}
