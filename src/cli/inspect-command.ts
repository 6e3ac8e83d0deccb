import type { IdentifierMode } from '../model/event.js';
import { CONFLICT_DIMENSIONS } from '../model/fields.js';
import { formatInstant } from '../model/time.js';
import { type Inspection, inspectImage } from '../snapshot/image.js';
import { emptyFilters } from '../snapshot/summary.js';
import { parseSourceArgument, sourceOfSpec } from '../source/spec.js';
import { loadImage } from '../thread/load-image.js';
import { createProgressLine } from './progress.js';
import { formatBytes, formatCount, formatCountOf, formatMs } from './quantity.js';
import { describeRejections, formatRejection } from './rejections.js';
import { EXIT_FAILURE } from './report-failure.js';

export interface InspectArguments {
  readonly source: string;
  readonly identifiers: IdentifierMode;
  /** The inspection as JSON instead of as text. */
  readonly json?: boolean;
}

/** Rejections that the text lists one by one; JSON has all that were kept. */
const REJECTIONS_LISTED_MAX = 20;
/** The same for fields that are not served, and what is shown of a name. */
const UNSERVED_LISTED_MAX = 20;
const NAME_UNITS_SHOWN = 40;

/**
 * `lectern inspect`: what is in a source, and what is wrong with it. Resolves to the exit code, which is a failure where no
 * event is left: `serve` would not serve it.
 *
 * @throws LecternError where the source cannot be loaded
 */
export async function inspect({ source, identifiers, json = false }: InspectArguments): Promise<number> {
  const opened = sourceOfSpec(parseSourceArgument(source));
  const progress = createProgressLine(process.stderr, opened.name);
  try {
    const loaded = await loadImage(opened, identifiers, { onProgress: progress.update });
    const inspection = inspectImage(loaded.image);
    progress.clear();
    const { format, gzipped, bytesRead } = loaded.source;
    process.stdout.write(
      json
        ? `${JSON.stringify({ source: { name: opened.name, ...loaded.source }, ...inspection }, null, 2)}\n`
        : `${opened.name}: ${format}${gzipped ? ', gzipped' : ''}, ${formatBytes(bytesRead)}\n\n${formatInspection(inspection)}`,
    );
    return inspection.summary.events === 0 ? EXIT_FAILURE : 0;
  } finally {
    progress.clear();
  }
}

/** The inspection as text, a topic a paragraph. */
export function formatInspection({ summary, conflicts, bytes }: Inspection): string {
  const { events, slots, span, fields } = summary;
  const paragraphs = [
    formatTable([
      ['events', formatCount(events)],
      ['slots', `${formatCount(slots)}${slots === 0 ? '' : ` (${(events / slots).toFixed(1)} events each)`}`],
      ['span', span === null ? 'none' : `${formatInstant(span.startMs)} to ${formatInstant(span.endMs)}`],
      ['loaded in', formatMs(summary.buildMs)],
      ['content', summary.id],
    ]),
    formatTable([
      ['field', 'distinct', 'events', 'without'],
      ...fields.map((field) => [field.name, field.values, field.events, events - field.events].map(toCell)),
    ]),
    ...emptyFilters(summary).map((name) => `warning: no event has a ${name}; a filter on it finds nothing`),
    ...formatUnserved(summary.unserved),
    formatTable([
      ['conflicts by', 'lessons merged', 'every row a lesson'],
      ...CONFLICT_DIMENSIONS.map(({ by }) => [by, conflicts.merged[by], conflicts.unmerged[by]].map(toCell)),
    ]),
    formatTable([
      ['memory', formatBytes(bytes.total)],
      ['  rows', formatBytes(bytes.rows)],
      ['  fields', formatBytes(bytes.fields)],
      ['  slots', formatBytes(bytes.slots)],
      ['  conflicts', formatBytes(bytes.clusters)],
    ]),
    formatRejections(summary),
  ];
  return paragraphs.map((paragraph) => `${paragraph}\n`).join('\n');
}

/** Names come from outside: as JSON they hold no control character, and long ones are cut. */
function formatUnserved({ fields, others }: Inspection['summary']['unserved']): string[] {
  if (fields.length === 0 && others === 0) return [];
  const listed = fields.slice(0, UNSERVED_LISTED_MAX);
  const lines = listed.map(({ name, records, suggestion }) => {
    const hint = suggestion === null ? '' : `; did you mean ${suggestion}?`;
    return `  ${showName(name)} in ${formatCountOf(records, 'record')}${hint}`;
  });
  const more = fields.length - listed.length;
  if (more > 0) lines.push(`  and ${formatCount(more)} more (--json lists them)`);
  if (others > 0) lines.push(`  and further names, ${formatCountOf(others, 'time')}`);
  return [['fields that are not served:', ...lines].join('\n')];
}

function showName(name: string): string {
  const shown = JSON.stringify(name.length > NAME_UNITS_SHOWN ? `${name.slice(0, NAME_UNITS_SHOWN)}…` : name);
  return shown.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    (character.codePointAt(0) ?? 0) > 0xffff
      ? '?'
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function formatRejections(summary: Inspection['summary']): string {
  const { rejected, rejections } = summary;
  if (rejected === 0) return 'no records left out';
  const listed = rejections
    .slice(0, REJECTIONS_LISTED_MAX)
    .map((rejection) => `  ${formatRejection(rejection)}`);
  const more = rejected - listed.length;
  return [
    ...describeRejections(summary),
    '',
    ...listed,
    ...(more > 0
      ? [`  and ${formatCount(more)} more (--json lists ${listedByJson(rejected, rejections.length)})`]
      : []),
  ].join('\n');
}

function listedByJson(rejected: number, kept: number): string {
  return kept < rejected ? `the first ${formatCount(kept)}` : 'them all';
}

function toCell(value: string | number): string {
  return typeof value === 'number' ? formatCount(value) : value;
}

/** Columns of equal width: the first to the left; the others to the right where there are more than two. */
function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  const right = widths.length > 2;
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return column > 0 && right ? cell.padStart(width) : cell.padEnd(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
