import { CONFLICT_DIMENSIONS } from '../model/fields.js';
import { formatInstant } from '../model/time.js';
import type { ReadingSettings } from '../options/option-types.js';
import { readRulesOf } from '../options/reading-settings.js';
import { type Inspection, inspectImage } from '../snapshot/image.js';
import { emptyFilters } from '../snapshot/summary.js';
import { readFieldMap } from '../source/map-file.js';
import { parseSourceArgument, sourceOfSpec } from '../source/spec.js';
import { loadImage } from '../thread/load-image.js';
import { EXIT_FAILURE } from './faults.js';
import {
  createProgressLine,
  describeRejections,
  formatBytes,
  formatCount,
  formatCountOf,
  formatMs,
  formatRejection,
} from './wording.js';

/** The text lists so many; JSON lists all that were kept. */
const REJECTIONS_LISTED_MAX = 20;
const UNSERVED_LISTED_MAX = 20;
const NAME_UNITS_SHOWN = 40;

/** `lectern inspect` describes a source. It resolves to the exit code: failure without events, as `serve` refuses them. */
export async function inspect(source: string, reading: ReadingSettings, asJson: boolean): Promise<number> {
  const rules = readRulesOf({ ...reading, fieldMap: await readFieldMap(reading) });
  const opened = sourceOfSpec(parseSourceArgument(source));
  const progress = createProgressLine(opened.name);
  try {
    const loaded = await loadImage(opened, rules, { onProgress: progress.update });
    const inspection = inspectImage(loaded.image);
    progress.clear();
    const { format, gzipped, bytesRead } = loaded.source;
    process.stdout.write(
      asJson
        ? `${JSON.stringify({ source: { name: opened.name, ...loaded.source }, ...inspection }, null, 2)}\n`
        : `${opened.name}: ${format}${gzipped ? ', gzipped' : ''}, ${formatBytes(bytesRead)}\n\n${formatInspection(inspection)}`,
    );
    return inspection.summary.events === 0 ? EXIT_FAILURE : 0;
  } finally {
    progress.clear();
  }
}

function formatInspection({ summary, conflicts, bytes }: Inspection): string {
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
    formatRejections(summary),
  ];
  return paragraphs.map((paragraph) => `${paragraph}\n`).join('\n');
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
  if (others > 0) lines.push(`  and further names, ${formatCountOf(others, 'time')}`);
  return [['fields that are not served:', ...lines].join('\n')];
}

function formatAmbiguous({ gaps, overlaps }: Inspection['summary']['ambiguousTimes']): string[] {
  if (gaps + overlaps === 0) return [];
  const lines = [
    ...(gaps > 0 ? [`  ${formatCountOf(gaps, 'time')} that clocks skipped: moved on by as much`] : []),
    ...(overlaps > 0
      ? [`  ${formatCountOf(overlaps, 'time')} that clocks showed twice: the first is meant`]
      : []),
  ];
  return [['local times in changes of the clock:', ...lines].join('\n')];
}

/** Names are foreign text: control characters are escaped, and long names are cut. */
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
  const listed = rejections.slice(0, REJECTIONS_LISTED_MAX);
  const lines = listed.map((rejection) => `  ${formatRejection(rejection)}`);
  const more = rejected - listed.length;
  if (more > 0) {
    const inJson = rejections.length < rejected ? `the first ${formatCount(rejections.length)}` : 'them all';
    lines.push(`  and ${formatCount(more)} more (--json lists ${inJson})`);
  }
  return [...describeRejections(summary, listed), '', ...lines].join('\n');
}

function rowOf(name: string, ...counts: readonly number[]): string[] {
  return [name, ...counts.map(formatCount)];
}

/** Aligns columns: the first to the left, the others to the right if there are more than two. */
function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column > 0 && widths.length > 2 ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}
