import type { LecternError } from '../errors.js';
import { type ExpansionWindow, outsideHint } from '../model/expansion.js';
import { CONFLICT_DIMENSIONS } from '../model/fields.js';
import type { ReadRules } from '../model/read-rules.js';
import { formatInstant } from '../model/time.js';
import type { ReadingSettings } from '../options/option-types.js';
import { type Inspection, inspectImage } from '../snapshot/image.js';
import { emptyFilters, type SnapshotSummary } from '../snapshot/summary.js';
import type { CsvDialect, PartsReport, Source, SourceFormat } from '../source/source.js';
import { sourceOfSpec } from '../source/spec.js';
import { loadImage } from '../thread/load-image.js';
import { ColumnLook } from './column-look.js';
import { EXIT_FAILURE } from './faults.js';
import { type ReadSource, readSource } from './named-source.js';
import { printable, writeOut } from './printable.js';
import {
  type MapProposal,
  namesIn,
  proposeCalendarMap,
  proposedOptions,
  proposeMap,
  shellQuoted,
} from './propose-map.js';
import {
  createProgressLine,
  describeRejections,
  formatBytes,
  formatCount,
  formatCountOf,
  formatMs,
  groupRejections,
} from './wording.js';

const UNSERVED_LISTED_MAX = 20;
const FAILED_LISTED_MAX = 20;

/**
 * `lectern inspect` describes a source. The promise resolves to the exit code. A source without events is a
 * failure, because `serve` would refuse it.
 */
export async function inspect(
  source: readonly string[],
  reading: ReadingSettings,
  asJson: boolean,
): Promise<number> {
  const named = await readSource(source, reading);
  const rules = { ...named.rules, header: named.rules.header ?? 'guess' } as const;
  const opened = sourceOfSpec(named.spec);
  const progress = createProgressLine(opened.name);
  const look = new ColumnLook();
  // A missing source is allowed, as in `serve` with watched files.
  const options = {
    onProgress: progress.update,
    onRecord: look.record,
    onCatalogue: look.describe,
    allowMissing: true,
  };
  let found: PartsReport | null = null as PartsReport | null;
  const onParts = (report: PartsReport): void => {
    found = report;
  };
  try {
    const loaded = await loadImage(opened, rules, { ...options, onParts });
    const inspection = inspectImage(loaded.image);
    progress.clear();
    const proposal = proposalFor(look, named, reading, inspection.summary);
    const { format, gzipped, bytesRead, expanded, csv } = loaded.source;
    const records = inspection.summary.events === 0 ? await recordsWithin(opened, rules) : null;
    const rejectionGroups = groupRejections(inspection.summary);
    const facts = {
      source: { name: opened.name, ...loaded.source, ...countsOf(found) },
      ...inspection,
      rejectionGroups,
      ...(records === null ? {} : { records }),
    };
    const title = `${opened.name}: ${format}${gzipped ? ', gzipped' : ''}, ${formatBytes(bytesRead)}${formatDialect(csv)}${formatFound(found)}${formatExpanded(expanded)}`;
    const columns = [...describeRecords(records, named), ...describeColumns(look, proposal)];
    writeOut(
      asJson
        ? `${JSON.stringify({ ...facts, columns: look.columns, proposal }, null, 2)}\n`
        : `${[title, formatInspection(inspection, format), ...columns].join('\n\n')}\n`,
    );
    return inspection.summary.events === 0 ? EXIT_FAILURE : 0;
  } catch (error) {
    progress.clear();
    const records = await recordsWithin(opened, rules);
    // If the map names a wrong column, the report shows the existing ones.
    const proposal = proposalFor(look, named, reading, null);
    if (asJson) {
      const { code, message } = error as Partial<LecternError> & Error;
      const facts = {
        source: { name: opened.name },
        error: { code, message },
        columns: look.columns,
        proposal,
        ...(records === null ? {} : { records }),
      };
      writeOut(`${JSON.stringify(facts, null, 2)}\n`);
    } else {
      const columns = [...describeRecords(records, named), ...describeColumns(look, proposal)];
      if (columns.length > 0) writeOut(`${columns.join('\n\n')}\n`);
    }
    throw error;
  } finally {
    progress.clear();
  }
}

/** The expression that gives the records within one JSON document; null if there is none. */
async function recordsWithin(source: Source, rules: ReadRules): Promise<string | null> {
  if (rules.records !== undefined || source.readOnce || source.find !== undefined) return null;
  let document: unknown;
  try {
    await source.load(
      { row() {}, fault() {} },
      {
        rules: { ...rules, fieldMap: undefined, records: '{"document": $}' },
        onRecord(value) {
          ({ document } = value as { document: unknown });
          return false;
        },
      },
    );
  } catch {
    // It is no JSON document.
    return null;
  }
  const { proposeRecords } = await import('../source/formats/nested-json.js');
  return proposeRecords(document);
}

function describeRecords(records: string | null, { args }: Pick<ReadSource, 'args'>): string[] {
  if (records === null) return [];
  const lines = ['sources:', `  - from: ${args[0]}`, `    records: ${JSON.stringify(records)}`];
  return [
    ['the records lie within the document; in a timetable file:', ...lines.map((line) => `  ${line}`)].join(
      '\n',
    ),
  ];
}

function formatDialect(csv: CsvDialect | undefined): string {
  if (csv === undefined) return '';
  const header = csv.hasHeader ? '' : ', without a header: its columns are column 1, column 2, …';
  return `, with ${JSON.stringify(csv.delimiter)} between cells${header}`;
}

/** Counts for several sources, a folder or a glob. */
function countsOf(found: PartsReport | null): object {
  if (found === null) return {};
  const failed = found.parts.flatMap(({ name, failure }) =>
    failure === null ? [] : [{ name, reason: failure.message }],
  );
  return { sources: found.parts.length, skipped: found.skipped, failed };
}

function formatFound(found: PartsReport | null): string {
  if (found === null) return '';
  const { parts, skipped } = found;
  const others = skipped === 0 ? '' : `, ${formatCountOf(skipped, 'other file')} skipped`;
  const failed = parts.flatMap(({ failure }) => failure?.message ?? []);
  const lines = failed.slice(0, FAILED_LISTED_MAX).map((message) => `\n  ${message}`);
  if (failed.length > lines.length) lines.push(`\n  and ${formatCount(failed.length - lines.length)} more`);
  const heading = `\n${formatCountOf(failed.length, 'source')} cannot be read:`;
  const faults = failed.length === 0 ? '' : [heading, ...lines].join('');
  return `, of ${formatCountOf(parts.length, 'source')}${others}${faults}`;
}

function formatExpanded(expanded: ExpansionWindow | undefined): string {
  if (expanded === undefined) return '';
  const hint = outsideHint(expanded);
  const lines = [
    `recurring events are expanded from ${expanded.from} until ${expanded.to}, exclusive (--calendar-from, --calendar-to)`,
  ];
  return ['', ...lines, ...(hint === null ? [] : [hint])].join('\n');
}

function formatInspection({ summary, conflicts, bytes }: Inspection, format: SourceFormat): string {
  const { events, slots, span, fields } = summary;
  const totals = formatTable([
    ['events', formatCount(events)],
    ['slots', `${formatCount(slots)}${slots === 0 ? '' : ` (${(events / slots).toFixed(1)} events each)`}`],
    ['span', span === null ? 'none' : `${formatInstant(span.startMs)} to ${formatInstant(span.endMs)}`],
    ['loaded in', formatMs(summary.buildMs)],
    ['content', summary.id],
  ]);
  // Tables of zeros would distract from the faults.
  if (events === 0) return [totals, formatRejections(summary, format)].join('\n\n');
  const paragraphs = [
    totals,
    formatTable([
      ['field', 'distinct', 'events', 'without'],
      ...fields.map((field) => rowOf(field.name, field.values, field.events, events - field.events)),
    ]),
    ...emptyFilters(summary).map((name) => `warning: no event has a ${name}; a filter on it finds nothing`),
    ...formatUnserved(summary.unserved),
    ...formatAmbiguous(summary.ambiguousTimes),
    formatTable([
      ['conflicts by', 'lessons merged', 'every row a lesson'],
      ...CONFLICT_DIMENSIONS.map(({ by }) => rowOf(by, conflicts.merged[by], conflicts.unmerged[by])),
    ]),
    formatTable([
      ['memory', formatBytes(bytes.total)],
      ['  rows', formatBytes(bytes.rows)],
      ['  fields', formatBytes(bytes.fields)],
      ['  slots', formatBytes(bytes.slots)],
      ['  conflicts', formatBytes(bytes.clusters)],
    ]),
    formatRejections(summary, format),
  ];
  return paragraphs.join('\n\n');
}

function formatUnserved({ fields, others }: Inspection['summary']['unserved']): string[] {
  if (fields.length === 0 && others === 0) return [];
  const listed = fields.slice(0, UNSERVED_LISTED_MAX);
  const lines = listed.map(({ name, records, suggestion }) => {
    const hint = suggestion === null ? '' : `; did you mean ${suggestion}?`;
    return `  ${showName(name)} in ${formatCountOf(records, 'record')}${hint}`;
  });
  const more = fields.length - listed.length;
  if (more > 0) lines.push(`  and ${formatCount(more)} more (--json lists them)`);
  if (others > 0) lines.push(`  and ${formatCountOf(others, 'occurrence')} of further names`);
  return [['fields that are not served:', ...lines].join('\n')];
}

function formatAmbiguous({ gaps, overlaps }: Inspection['summary']['ambiguousTimes']): string[] {
  if (gaps + overlaps === 0) return [];
  const lines = [
    ...(gaps > 0
      ? [`  ${formatCountOf(gaps, 'time')} that clocks skipped: moved forward by the length of the skip`]
      : []),
    ...(overlaps > 0
      ? [`  ${formatCountOf(overlaps, 'time')} that clocks showed twice: read as the earlier time`]
      : []),
  ];
  return [['local times at clock changes:', ...lines].join('\n')];
}

function formatRejections(summary: Inspection['summary'], format: SourceFormat): string {
  const { events, rejected, rejections } = summary;
  if (rejected === 0) {
    if (events > 0) return 'no records left out';
    return format === 'icalendar'
      ? 'the calendar has no events between --calendar-from and --calendar-to'
      : 'the source has no records';
  }
  const kept = rejections.length < rejected ? `the first ${formatCount(rejections.length)}` : 'them all';
  return [...describeRejections(summary), `  (--json lists ${kept})`].join('\n');
}

function rowOf(name: string, ...counts: readonly number[]): string[] {
  return [name, ...counts.map(formatCount)];
}

const COLUMNS_LISTED_MAX = 60;
const NAME_UNITS_SHOWN = 40;
/** Each event of a calendar has these properties. */
const CALENDAR_COLUMNS = ['id', 'DTSTART', 'DTEND'];

const DEVELOPMENT_NOTE =
  '--dev is for a first look: it gives a token to everyone. In production give a key instead, such as --hs256-secret-file';

interface CommandProposal extends MapProposal {
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
function proposalFor(
  look: ColumnLook,
  source: Pick<ReadSource, 'args' | 'hidden' | 'isOfFile'>,
  reading: ReadingSettings,
  summary: SnapshotSummary | null,
): CommandProposal | null {
  // The fields of a timetable file belong to its sources.
  if (look.records === 0 || source.isOfFile) return null;
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

function describeColumns(look: ColumnLook, proposal: CommandProposal | null): string[] {
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
function showName(name: string): string {
  return printable(
    JSON.stringify(name.length > NAME_UNITS_SHOWN ? `${name.slice(0, NAME_UNITS_SHOWN)}…` : name),
  );
}

/**
 * Aligns the first column to the left, and the others to the right if there are more than two. @param last
 * the side to which the last column is aligned, if there are more than two
 */
function formatTable(rows: readonly (readonly string[])[], last: 'left' | 'right' = 'right'): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    const isRight = column > 0 && widths.length > 2 && (last === 'right' || column < widths.length - 1);
    return isRight ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}
