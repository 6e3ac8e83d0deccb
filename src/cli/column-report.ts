import type { ReadingSettings } from '../options/option-types.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { ColumnLook } from './column-look.js';
import type { NamedSource } from './named-source.js';
import {
  type MapProposal,
  namesIn,
  proposeCalendarMap,
  proposedOptions,
  proposeMap,
  shellQuoted,
} from './propose-map.js';
import { formatCount, formatCountOf } from './wording.js';

const COLUMNS_LISTED_MAX = 60;
const NAME_UNITS_SHOWN = 40;
/** Each event of a calendar has these properties. */
const CALENDAR_COLUMNS = ['id', 'DTSTART', 'DTEND'];

const DEVELOPMENT_NOTE =
  '--dev is for a first look: it gives a token to everyone. In production give a key instead, such as --hs256-secret-file';

export interface CommandProposal extends MapProposal {
  /** The command line, ready to paste. Null if no event can be made. */
  readonly command: string | null;
}

/**
 * A field map for a source that would otherwise be served badly or not at all. Null if no map helps.
 *
 * @param source as named on the command line
 * @param reading as given on the command line; its options stay in the proposal
 * @param summary null if the source cannot be loaded
 */
export function proposalFor(
  look: ColumnLook,
  source: Pick<NamedSource, 'args' | 'hidden'>,
  reading: ReadingSettings,
  summary: SnapshotSummary | null,
): CommandProposal | null {
  if (look.records === 0) return null;
  const isEmpty = (field: string): boolean =>
    summary?.fields.find(({ name }) => name === field)?.events === 0;
  const isCalendar = CALENDAR_COLUMNS.every((column) => look.columns.some(({ name }) => name === column));
  const given = givenMap(look, reading, summary !== null);
  const { key } = look;
  const hasDuplicates = (summary?.rejectedByCode['duplicate-id'] ?? 0) > 0;
  const proposal = isCalendar
    ? proposeCalendarMap(look.columns, isEmpty)
    : proposeMap(look.columns, { rules: reading, given, key, hasDuplicates });
  const fields = Object.keys(proposal.map);
  if (isCalendar && fields.length === 0) return null;
  const isKeyUnused = key.length > 0 && fields.includes('id');
  const isWorse = summary === null || summary.events === 0 || isKeyUnused || fields.some(isEmpty);
  if (!isWorse) return null;
  const { identifiers, dateOrder = null, timeZone = null } = reading;
  const whole: MapProposal = {
    ...proposal,
    map: { ...proposal.map, ...given },
    dateOrder: proposal.dateOrder ?? dateOrder,
    timeZone: proposal.timeZone ?? timeZone,
    identifiers: proposal.identifiers ?? (identifiers === 'uuid' ? null : identifiers),
  };
  // A map file with a wrong column makes every load fail.
  const { mapFile, encoding, calendarFrom, calendarTo } = reading;
  const kept = Object.entries({
    ...(summary === null ? {} : { 'map-file': mapFile }),
    encoding,
    'calendar-from': calendarFrom,
    'calendar-to': calendarTo,
  });
  const options = kept.flatMap(([flag, value]) => (value ? [`--${flag} ${shellQuoted(value)}`] : []));
  const command = ['lectern serve', ...source.args, ...options, ...proposedOptions(whole), '--dev'].join(' ');
  const notes = [...proposal.notes, ...source.hidden];
  return { ...whole, notes, command: proposal.isComplete ? command : null };
}

/** The entries of `--map` whose columns exist. @param isGood whether a load found all columns */
function givenMap(
  look: ColumnLook,
  { fieldMap = {} }: ReadingSettings,
  isGood: boolean,
): Record<string, string> {
  const names = new Set(look.columns.map(({ name }) => name));
  const entries = Object.entries(fieldMap).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && (isGood || namesIn(entry[1]).every((name) => names.has(name))),
  );
  return Object.fromEntries(entries);
}

/** Describes the columns and the proposal, in paragraphs. */
export function describeColumns(look: ColumnLook, proposal: CommandProposal | null): string[] {
  const { columns, records } = look;
  if (columns.length === 0) return [];
  const listed = columns.slice(0, COLUMNS_LISTED_MAX);
  const rows = listed.map(({ name, records: count, samples }) => [
    `  ${showName(name)}`,
    formatCount(count),
    samples.map(showName).join(', '),
  ]);
  const more = columns.length - listed.length;
  const table = [
    `columns of the first ${formatCountOf(records, 'record')}, with counts of values and samples:`,
    formatTable(rows, 'left'),
    ...(more > 0 ? [`  and ${formatCount(more)} more (--json lists them)`] : []),
  ].join('\n');
  return proposal === null ? [table] : [table, describeProposal(proposal)];
}

function describeProposal({ command, notes }: CommandProposal): string {
  const lines = notes.map((note) => `  ${note}`);
  if (command === null) return ['a field map cannot be proposed:', ...lines].join('\n');
  return ['to serve the source, try:', `  ${command}`, ...lines, `  ${DEVELOPMENT_NOTE}`].join('\n');
}

/** Names come from outside: control characters are escaped, and long names are cut. */
export function showName(name: string): string {
  const shown = JSON.stringify(name.length > NAME_UNITS_SHOWN ? `${name.slice(0, NAME_UNITS_SHOWN)}…` : name);
  return shown.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    (character.codePointAt(0) ?? 0) > 0xffff
      ? '?'
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Aligns the first column to the left, and the others to the right if there are more than two. @param last
 * the side to which the last column is aligned, if there are more than two
 */
export function formatTable(rows: readonly (readonly string[])[], last: 'left' | 'right' = 'right'): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    const isRight = column > 0 && widths.length > 2 && (last === 'right' || column < widths.length - 1);
    return isRight ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}
