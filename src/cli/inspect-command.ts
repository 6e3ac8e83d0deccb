import { LecternError, optionInvalid } from '../base/errors.js';
import { type ExpansionWindow, outsideHint } from '../base/model/expansion.js';
import { CONFLICT_DIMENSIONS } from '../base/model/fields.js';
import type { ReadRules } from '../base/model/read-rules.js';
import { formatInstant } from '../base/model/time.js';
import type { ReadingSettings } from '../options/option-types.js';
import { type LoadedImage, loadImage } from '../refresh/thread/load-image.js';
import { type Inspection, inspectImage } from '../snapshot/image.js';
import { emptyFilters, type SnapshotSummary } from '../snapshot/summary.js';
import { type RoomsSpec, readRooms } from '../source/rooms-file.js';
import type { CsvDialect, PartsReport, Source, SourceFormat } from '../source/source.js';
import { sourceOfSpec } from '../source/spec.js';
import { ColumnLook, type LookedColumn } from './column-look.js';
import { likeliest } from './column-names.js';
import { EXIT_FAILURE } from './faults.js';
import { type ReadSource, readSource } from './named-source.js';
import { nestedRecords } from './nested-records.js';
import { printable, shellQuoted, writeOut } from './printable.js';
import {
  type MapProposal,
  namesIn,
  type ProposalGround,
  proposeCalendarMap,
  proposedOptions,
  proposeMap,
  zoneOf,
} from './propose-map.js';
import type { QueryProposal } from './propose-query.js';
import {
  createProgressLine,
  describeRejections,
  formatBytes,
  formatCount,
  formatCountOf,
  formatMs,
  groupRejections,
} from './wording.js';
import { timetableText, writeTimetable } from './write-timetable.js';

/** Fields that are not served, and sources that cannot be read. */
const LISTED_MAX = 20;

interface InspectOptions {
  readonly asJson: boolean;
  /** The path of a timetable file to write. */
  readonly write?: string | undefined;
  /** Whether the file may be replaced. */
  readonly isForced: boolean;
  /** The query that was made up for a database; null if the user named the rows. */
  readonly proposed: QueryProposal | null;
}

/**
 * `lectern inspect` describes a source. The promise resolves to the exit code. A source without events is a
 * failure, because `serve` would refuse it.
 */
export async function inspect(
  source: readonly string[],
  reading: ReadingSettings,
  { asJson, write, isForced, proposed }: InspectOptions,
): Promise<number> {
  const named = await readSource(source, reading);
  const opened = sourceOfSpec(named.spec);
  const progress = createProgressLine(opened.name);
  let look = new ColumnLook();
  let found: PartsReport | null = null as PartsReport | null;
  const onParts = (report: PartsReport): void => {
    found = report;
  };
  const load = (given: ReadRules): Promise<LoadedImage> => {
    look = new ColumnLook();
    const { record: onRecord, describe: onCatalogue } = look;
    const options = { onProgress: progress.update, onRecord, onCatalogue, onParts };
    // A missing source is allowed, as in `serve` with watched files.
    return loadImage(opened, given, { ...options, allowMissing: true });
  };
  // A timetable file says how it is read: what `serve` refuses is refused here, too.
  const guess = named.isOfFile
    ? await loadBy(named.rules, load)
    : await loadGuessing({ ...named.rules, header: named.rules.header ?? 'guess' }, load);
  const { loaded, failure } = guess;
  const csv = loaded?.source.csv;
  const dialect = csv === undefined ? {} : rulesOfDialect(csv, named.rules);
  const rules = { ...guess.rules, header: named.rules.header, ...dialect };
  progress.clear();
  const inspection = loaded === null ? null : inspectImage(loaded.image);
  const summary = inspection?.summary ?? null;
  const isWritten = write !== undefined;
  const guessed = rules.encoding === named.rules.encoding ? '' : `, read as ${rules.encoding}`;
  // If the map names a wrong column, the report shows the existing ones.
  const seen = await proposalFor({ look, source: named, reading, rules, summary, isWritten });
  if (asJson) {
    const { code, message } = (failure ?? {}) as Partial<LecternError> & Partial<Error>;
    const source = { name: opened.name, ...loaded?.source, ...countsOf(found) };
    const facts =
      summary === null
        ? { source: { name: opened.name }, error: { code, message } }
        : { source, ...inspection, rejectionGroups: groupRejections(summary) };
    const query = proposed === null ? {} : { query: proposed };
    writeOut(`${JSON.stringify({ ...facts, ...plainSeen(seen), ...query }, null, 2)}\n`);
  } else {
    const report =
      loaded === null || inspection === null
        ? []
        : describeLoad(`${opened.name}${guessed}`, loaded, inspection, found, isWritten);
    const records = isWritten || named.isOfFile ? [] : describeRecords(seen.rules.records, named);
    const query = proposed === null ? [] : describeQuery(proposed, seen.proposal === null, named.args);
    const paragraphs = [...report, ...records, ...describeColumns(seen, write), ...query];
    if (paragraphs.length > 0) writeOut(`${paragraphs.join('\n\n')}\n`);
    if (named.rooms !== undefined) writeOut(`\n${await describeRooms(named.rooms)}\n`);
  }
  // What the proposal reads in another way was no fault of the source.
  const canWrite = failure === null || seen.proposal?.command != null || seen.rules.records !== undefined;
  if (isWritten && canWrite) return await writeProposal(write, isForced, named, seen, reading, loaded);
  if (summary === null) throw failure;
  return summary.events === 0 ? EXIT_FAILURE : 0;
}

/** @throws LecternError `rooms-unusable` */
async function describeRooms({ source, rules }: RoomsSpec): Promise<string> {
  const { rooms } = await readRooms(typeof source === 'string' ? source : sourceOfSpec(source), rules);
  return `rooms: ${formatCountOf(rooms.length, 'room')}`;
}

interface GuessedLoad {
  readonly loaded: LoadedImage | null;
  readonly failure: unknown;
  readonly rules: ReadRules;
}

/** Loads a source, again with each rule that a load shows to be missing. */
async function loadGuessing(
  rules: ReadRules,
  load: (rules: ReadRules) => Promise<LoadedImage>,
): Promise<GuessedLoad> {
  const guess = await loadBy(rules, load);
  const missing = missingRules(guess);
  return missing === null ? guess : loadGuessing({ ...rules, ...missing }, load);
}

/** The encoding; for a calendar the zone of its times, or the days of its recurring events, if most have no occurrence in the usual days. */
function missingRules({ loaded, failure, rules }: GuessedLoad): Partial<ReadRules> | null {
  const { message = '' } = (failure ?? {}) as Partial<Error>;
  const [, encoding] = /in a timetable file, give encoding: ([\w-]+)/.exec(message) ?? [];
  if (encoding !== undefined && encoding !== rules.encoding) return { encoding };
  if (loaded?.source.format !== 'icalendar') return null;
  const { rejections, events } = loaded.image.summary;
  if (rules.timeZone === undefined && rejections.some(({ detail }) => detail.includes('it has no time zone')))
    return { timeZone: zoneOf(undefined).timeZone };
  const { outside = null } = loaded.source.expanded ?? {};
  if (outside === null || outside.events < events || (rules.from ?? rules.to) !== undefined) return null;
  return { from: outside.from, to: outside.to };
}

async function loadBy(
  rules: ReadRules,
  load: (rules: ReadRules) => Promise<LoadedImage>,
): Promise<GuessedLoad> {
  try {
    return { loaded: await load(rules), failure: null, rules };
  } catch (failure) {
    return { loaded: null, failure, rules };
  }
}

/** @param isServed whether the query needs no field map, which would come with the command */
function describeQuery(
  { identifiers, statements, notes }: QueryProposal,
  isServed: boolean,
  args: readonly string[],
): string[] {
  const options = identifiers === 'uuid' ? '' : ` --identifiers ${identifiers}`;
  const command = [`lectern serve ${args.join(' ')}${options} --dev`, DEVELOPMENT_NOTE];
  return [
    ...listed('to serve the lessons with what other tables say of them, try:', isServed ? command : []),
    ...listed('of the query:', notes),
    ...listed(
      'to follow each change, set wal_level to logical, run this as the owner of the tables, and add --follow (in a timetable file: follow: true):',
      statements,
    ),
  ];
}

/** A paragraph of lines below a heading; none without lines. @param all how many there are, if not all are given */
function listed(heading: string, lines: readonly string[], all = lines.length): string[] {
  const more = all - lines.length;
  const rest = more > 0 ? [`and ${formatCount(more)} more (--json lists them)`] : [];
  return all === 0 ? [] : [[heading, ...[...lines, ...rest].map((line) => `  ${line}`)].join('\n')];
}

function describeLoad(
  name: string,
  { source }: LoadedImage,
  inspection: Inspection,
  found: PartsReport | null,
  isShort: boolean,
): string[] {
  const { format, gzipped, bytesRead, expanded, csv } = source;
  const title = `${name}: ${format}${gzipped ? ', gzipped' : ''}, ${formatBytes(bytesRead)}${formatDialect(csv)}${formatFound(found)}${formatExpanded(expanded)}`;
  return isShort ? [title] : [title, formatInspection(inspection, format)];
}

/** How a CSV source is written, where a timetable file has to say it. */
function rulesOfDialect(
  { delimiter, hasHeader, headerLine }: CsvDialect,
  { header }: ReadRules,
): Partial<ReadRules> {
  const found = hasHeader ? headerLine : false;
  return {
    ...(USUAL_DELIMITERS.includes(delimiter) ? {} : { delimiter }),
    ...(header === undefined && found !== undefined ? { header: found } : {}),
  };
}

/** Writes the proposed timetable file, and says what it gives. */
async function writeProposal(
  path: string,
  isForced: boolean,
  { spec, from, hidden, isOfFile }: ReadSource,
  { proposal, columns, rules }: Seen,
  { table, query }: ReadingSettings,
  loaded: LoadedImage | null,
): Promise<number> {
  if (isOfFile) throw optionInvalid('--write takes a source, and this is a timetable file');
  if (from.length > 1) {
    const way = 'write a file for each, and move their entries into one list of sources';
    throw optionInvalid(`--write takes one source, because each is read in its own way: ${way}`);
  }
  if (!/\.ya?ml$/i.test(path)) throw optionInvalid(`--write ${path}: a timetable file ends in .yaml or .yml`);
  if (proposal === null || proposal.command === null) {
    const [fault] = loaded?.image.summary.rejections ?? [];
    const empty =
      fault === undefined ? 'it has no records' : `no record can be read, the first because ${fault.detail}`;
    const reason = proposal === null ? empty : proposal.notes.join('; ');
    throw new LecternError('source-malformed', `no timetable file can be proposed: ${reason}`);
  }
  const database = Object.fromEntries(
    Object.entries({ table, query }).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  const text = timetableText(path, {
    from,
    proposal,
    columns,
    format: loaded?.source.format,
    rules,
    database,
  });
  await writeTimetable(path, text, isForced);
  const { map: fieldMap, when, terms, dateOrder, timeZone, identifiers } = proposal;
  const given = { fieldMap, when, terms, dateOrder, timeZone, identifiers };
  const own = Object.fromEntries(Object.entries(given).filter(([, rule]) => rule !== null));
  const { image } = await loadImage(sourceOfSpec(spec), { ...rules, ...own });
  const { events, rejected } = image.summary;
  const lines = [
    `wrote ${path}: with it the source has ${formatCountOf(events, 'event')}; ${formatCountOf(rejected, 'record')} left out`,
    ...(rejected === 0 ? [] : [describeRejections(image.summary).join('\n')]),
    ...hidden,
    `check the lines with a comment, then run: lectern serve ${shellQuoted(path)} --dev`,
  ];
  writeOut(`\n${lines.join('\n')}\n`);
  return events === 0 ? EXIT_FAILURE : 0;
}

/** The whole JSON document of a source; undefined if it is none. */
async function documentOf(source: Source, rules: ReadRules): Promise<unknown> {
  if (rules.records !== undefined || source.readOnce || source.find !== undefined) return undefined;
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
    return undefined;
  }
  return document;
}

function describeRecords(records: string | undefined, { args }: Pick<ReadSource, 'args'>): string[] {
  if (records === undefined) return [];
  const lines = ['sources:', `  - from: ${args[0]}`, `    records: ${JSON.stringify(records)}`];
  return listed('the records lie within the document; in a timetable file:', lines);
}

function formatDialect(csv: CsvDialect | undefined): string {
  if (csv === undefined) return '';
  const below = csv.headerLine === undefined ? '' : `, with the header in line ${csv.headerLine}`;
  const header = csv.hasHeader ? below : ', without a header: its columns are column 1, column 2, …';
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
  const heading = `${formatCountOf(failed.length, 'source')} cannot be read:`;
  const faults = listed(heading, failed.slice(0, LISTED_MAX), failed.length);
  return [`, of ${formatCountOf(parts.length, 'source')}${others}`, ...faults].join('\n');
}

function formatExpanded(expanded: ExpansionWindow | undefined): string {
  if (expanded === undefined) return '';
  const hint = outsideHint(expanded);
  const line = `\nrecurring events are expanded from ${expanded.from} until ${expanded.to}, exclusive (--calendar-from, --calendar-to)`;
  return hint === null ? line : `${line}\n${hint}`;
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
    ...formatPatterns(summary.patterns),
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
  const lines = fields.slice(0, LISTED_MAX).map(({ name, records, suggestion }) => {
    const hint = suggestion === null ? '' : `; did you mean ${suggestion}?`;
    return `${showName(name)} in ${formatCountOf(records, 'record')}${hint}`;
  });
  const [known] = listed('fields that are not served:', lines, fields.length);
  const further = others === 0 ? '' : `\n  and ${formatCountOf(others, 'occurrence')} of further names`;
  return known === undefined ? [] : [known + further];
}

function formatAmbiguous({ gaps, overlaps }: Inspection['summary']['ambiguousTimes']): string[] {
  const lines = [
    [gaps, 'that clocks skipped: moved forward by the length of the skip'] as const,
    [overlaps, 'that clocks showed twice: read as the earlier time'] as const,
  ].flatMap(([times, what]) => (times === 0 ? [] : [`${formatCountOf(times, 'time')} ${what}`]));
  return listed('local times at clock changes:', lines);
}

function formatPatterns(patterns: SnapshotSummary['patterns']): string[] {
  if (patterns === undefined) return [];
  const { records, events, excepted, readings } = patterns;
  const from = readings.find((reading) => /^\d$/.test(reading));
  const counted = from === undefined ? '' : `; weekdays are counted from ${from}`;
  const left = excepted === 0 ? '' : `, ${formatCountOf(excepted, 'date')} left out by except`;
  const dates = formatCountOf(events, 'date');
  return [`weekly patterns: ${formatCountOf(records, 'record')} gave ${dates}${left}${counted}`];
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
const USUAL_DELIMITERS = [',', ';', '\t'];
const NAME_UNITS_SHOWN = 40;
/** Each event of a calendar has these properties. */
const CALENDAR_COLUMNS = ['id', 'DTSTART', 'DTEND'];

const DEVELOPMENT_NOTE =
  '--dev is for a first look: it gives a token to everyone. In production give a key instead, such as --hs256-secret-file';

interface CommandProposal extends MapProposal {
  /** The command line, ready to paste. Null if no event can be made. */
  readonly command: string | null;
}

/** The columns of a source, and what is proposed for them. */
interface Seen {
  readonly records: number;
  readonly columns: readonly LookedColumn[];
  /** Null if no proposal helps. */
  readonly proposal: CommandProposal | null;
  /** The rules by which the columns were read. */
  readonly rules: ReadRules;
}

interface Nested extends Omit<Seen, 'proposal'> {
  readonly proposal: MapProposal;
}

/** A place whose records have times counts more than any other, and a field more than many records. */
const COMPLETE_SCORE = 1000;
const MANY_RECORDS_SCORE = 20;

interface ProposalFacts {
  readonly look: ColumnLook;
  readonly source: ReadSource;
  /** As given on the command line; its options stay in the proposal. */
  readonly reading: ReadingSettings;
  readonly rules: ReadRules;
  /** Null if the source cannot be loaded. */
  readonly summary: SnapshotSummary | null;
  /** Whether a timetable file is written, also for a source that needs none. */
  readonly isWritten: boolean;
}

/** A field map for a source that would otherwise be served badly or not at all. */
async function proposalFor(facts: ProposalFacts): Promise<Seen> {
  const { look, source, reading, rules, summary, isWritten } = facts;
  const columns = { records: look.records, columns: look.columns, rules };
  // The fields of a timetable file belong to its sources.
  if (source.isOfFile) return { ...columns, proposal: null };
  const isEmpty = (field: string): boolean =>
    summary?.fields.find(({ name }) => name === field)?.events === 0;
  const isCalendar = CALENDAR_COLUMNS.every((column) => look.columns.some(({ name }) => name === column));
  const given = givenMap(look, reading, summary !== null);
  const { key } = look;
  const hasDuplicates = (summary?.rejectedByCode['duplicate-id'] ?? 0) > 0;
  const ground = { rules: reading, given, key, hasDuplicates };
  const { timeZone: givenZone, calendarFrom, calendarTo } = reading;
  const hasZone = rules.timeZone === givenZone;
  const days =
    rules.from === calendarFrom && rules.to === calendarTo
      ? []
      : [
          `--calendar-from ${rules.from} --calendar-to ${rules.to} are guesses: recurring events without an occurrence in the usual days lie within these`,
        ];
  const isGuessed = !hasZone || days.length > 0;
  const flat = isCalendar
    ? proposeCalendarMap(look.columns, isEmpty, !hasZone)
    : proposeMap(look.columns, ground);
  const isServed = flat.isComplete || (summary !== null && summary.events > 0);
  const document = isServed ? undefined : await documentOf(sourceOfSpec(source.spec), rules);
  const within = document === undefined ? null : nestedSeen(document, rules, ground);
  const nested = within?.proposal.isComplete ? within : null;
  if (look.records === 0 && within === null) return { ...columns, proposal: null };
  // If nothing can be made of the records, what they are is said all the same.
  const shown = nested ?? (look.records === 0 ? within : null);
  const proposal = shown?.proposal ?? flat;
  const fields = Object.keys(proposal.map);
  if (isCalendar && fields.length === 0 && !isWritten && !isGuessed) return { ...columns, proposal: null };
  const isKeyUnused = key.length > 0 && fields.includes('id');
  const hasMarks = Object.values(proposal.map).some((value) => typeof value === 'object' && value.values);
  const isBad = summary === null || summary.events === 0 || isKeyUnused || hasMarks || fields.some(isEmpty);
  if (!isBad && !isGuessed && !isWritten) return { ...columns, proposal: null };
  const { identifiers, dateOrder = null, timeZone = null } = reading;
  const whole: MapProposal = {
    ...proposal,
    map: { ...proposal.map, ...given },
    dateOrder: proposal.dateOrder ?? dateOrder,
    timeZone: proposal.timeZone ?? timeZone,
    identifiers: proposal.identifiers ?? (identifiers === 'uuid' ? null : identifiers),
  };
  const seen = shown ?? { ...columns, rules: { ...rules, records: within?.rules.records ?? rules.records } };
  const command = proposal.isComplete ? commandOf(whole, seen.rules, facts) : null;
  return { ...seen, proposal: { ...whole, notes: [...proposal.notes, ...days, ...source.hidden], command } };
}

/** The command that serves a source. What options cannot say goes into a timetable file. */
function commandOf(
  proposal: MapProposal,
  { records, encoding, header, from, to }: ReadRules,
  { source }: ProposalFacts,
): string {
  const days = Object.entries({ 'calendar-from': from, 'calendar-to': to });
  const options = days.flatMap(([flag, value]) => (value ? [`--${flag} ${shellQuoted(value)}`] : []));
  const { map, when } = proposal;
  const isPlain =
    when === null &&
    (records ?? encoding) === undefined &&
    typeof header !== 'number' &&
    Object.values(map).every((value) => typeof value === 'string');
  return isPlain
    ? ['lectern serve', ...source.args, ...options, ...proposedOptions(proposal), '--dev'].join(' ')
    : ['lectern inspect', ...source.args, ...options, '--write timetable.yaml'].join(' ');
}

/** The records within a JSON document that are most likely lessons; null if it has no lists of objects. */
function nestedSeen(document: unknown, rules: ReadRules, ground: ProposalGround): Nested | null {
  const places = nestedRecords(document).filter(({ expression }) => expression !== '$');
  const seen = places.map(({ expression, records }): Nested => {
    const look = new ColumnLook();
    for (const record of records) look.record(record);
    const proposal = proposeMap(look.columns, ground);
    const { columns } = look;
    return { proposal, records: look.records, columns, rules: { ...rules, records: expression } };
  });
  const scoreOf = ({ proposal: { isComplete, map }, records }: Nested): number =>
    (isComplete ? COMPLETE_SCORE : 0) + Object.keys(map).length * MANY_RECORDS_SCORE + Math.log2(1 + records);
  return likeliest(seen, scoreOf) ?? null;
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

/** The columns without all their values, for JSON. */
function plainSeen({ columns, proposal, rules }: Seen): object {
  const { records } = rules;
  return {
    columns: columns.map((column) => {
      const { values: _, ...shown } = { ...column, isUnique: column.isUnique, samples: column.samples };
      return shown;
    }),
    proposal,
    ...(records === undefined ? {} : { records }),
  };
}

function describeColumns({ columns, records, proposal }: Seen, write: string | undefined): string[] {
  if (columns.length === 0) return [];
  const rows = columns
    .slice(0, COLUMNS_LISTED_MAX)
    .map(({ name, each, records: count, samples }) => [
      showName(each === null ? name : `${name}[].${each}`),
      formatCount(count),
      samples.map(showName).join(', '),
    ]);
  const heading = `columns of the first ${formatCountOf(records, 'record')}, with counts of values and samples:`;
  const table = listed(heading, formatTable(rows, 'left').split('\n'), columns.length);
  return proposal === null || write !== undefined ? table : [...table, ...describeProposal(proposal)];
}

function describeProposal({ command, notes }: CommandProposal): string[] {
  if (command === null) return listed('a field map cannot be proposed:', notes);
  return command.startsWith('lectern inspect')
    ? listed('to serve the source, write a timetable file, check it and serve it:', [
        command,
        'lectern serve timetable.yaml --dev',
        ...notes,
        DEVELOPMENT_NOTE,
      ])
    : listed('to serve the source, try:', [command, ...notes, DEVELOPMENT_NOTE]);
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
