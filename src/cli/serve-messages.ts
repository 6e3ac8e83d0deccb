import type { ExampleRequest, Service } from '../app/service.js';
import type { Timetable } from '../app/timetable-interface.js';
import { type ExpansionWindow, outsideHint } from '../base/model/expansion.js';
import { suggest } from '../base/model/suggest.js';
import type { ServiceOptions } from '../options/option-types.js';
import { variableOf } from '../options/setting.js';
import { COMMANDS, settingsOfCommand } from '../options/table.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { describeRejections, formatBytes, formatCountOf, formatMs } from './wording.js';

const PREFIX = 'LECTERN_';
/** Kubernetes sets these variables for a Service whose name begins with "lectern". */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP)/;

/** One sentence for each unknown LECTERN_ variable, without its value. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  { sourceHeaders = {} }: Pick<ServiceOptions, 'sourceHeaders'>,
): readonly string[] {
  const known = COMMANDS.flatMap((command) =>
    [...settingsOfCommand(command).values()].flatMap((setting) => variableOf(setting) ?? []),
  );
  const texts = Object.values(sourceHeaders).join(' ');
  const referred = [...texts.matchAll(/env:(\w+)/g)].map(([, name]) => name);
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !SERVICE_LINK.test(name))
    .filter((name) => !known.includes(name) && !referred.includes(name))
    .sort()
    .map((name) => {
      const near = suggest(name, known);
      const hint = near === null ? '' : `: did you mean ${near}?`;
      return `the variable ${JSON.stringify(name)} is not one of Lectern's, and has no effect${hint}`;
    });
}

/** The text that development mode prints. */
export function formatReady(
  { adminAddress, baseUrl, dev, timetable, workers }: Service,
  summary: SnapshotSummary,
  example: ExampleRequest | null,
  canRefresh: boolean,
): string {
  const { events, buildMs, bytes, expanded } = summary;
  const isLoaded = timetable.publication?.origin === 'source';
  const how = isLoaded ? `loaded in ${formatMs(buildMs)}` : 'read from a snapshot file';
  const threads = workers === 1 ? '' : `, ${workers} threads`;
  const lines = [
    ...(example === null ? [] : [`Timetable: ${baseUrl}/view`, '']),
    `Lectern serves ${timetable.source.name} at ${baseUrl} (${dev ? 'development' : 'production'}${threads})`,
    `${formatCountOf(events, 'event')}, ${how}, ${formatBytes(bytes)} in memory`,
    ...(expanded === undefined ? [] : describeExpansion(expanded)),
    ...describeRejections(summary),
  ];
  if (adminAddress !== null) {
    const refresh = canRefresh ? ', POST /refresh' : '';
    lines.push(`Admin listener: ${adminAddress.origin} (/live, /ready, /metrics${refresh})`);
  }
  if (example !== null) {
    lines.push(
      '',
      'Try it:',
      `  curl -H 'Authorization: Bearer ${example.token}' '${example.url}'`,
      '',
      `Documentation: ${baseUrl}/docs`,
      `A new token: ${baseUrl}/login`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function describeExpansion(expanded: ExpansionWindow): string[] {
  const hint = outsideHint(expanded);
  const window = `Recurring events are served from ${expanded.from} until ${expanded.to}, exclusive (--calendar-from, --calendar-to)`;
  return hint === null ? [window] : [window, hint];
}

/**
 * Prints a line for each good load; failures are in the log. A regular load without changes gets a line only
 * after a failure.
 */
export function tellReloads(
  timetable: Pick<Timetable, 'on' | 'summary'>,
  isRegular: boolean,
  print: (line: string) => void,
): void {
  let wasBad = false;
  timetable.on('loaded', ({ result }) => {
    const isNews = result === 'published' || (result === 'unchanged' && (wasBad || !isRegular));
    wasBad = result === 'failed' || result === 'refused';
    if (!isNews || timetable.summary === null) return;
    const events = formatCountOf(timetable.summary.events, 'event');
    print(`loaded again: ${events}${result === 'unchanged' ? ', unchanged' : ''}\n`);
  });
}
