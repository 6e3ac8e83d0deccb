import type { ExampleRequest, Service } from '../service.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { formatBytes, formatCountOf, formatMs } from './quantity.js';
import { describeRejections } from './rejections.js';

/** The same for the log, as fields of one record. */
export function readyFields(
  {
    adminAddress,
    baseUrl,
    mode,
    timetable,
    workers,
  }: Pick<Service, 'adminAddress' | 'baseUrl' | 'mode' | 'timetable' | 'workers'>,
  summary: SnapshotSummary,
): object {
  const { events, rejected, buildMs, bytes } = summary;
  return {
    url: baseUrl,
    ...(adminAddress === null ? {} : { admin: adminAddress.origin }),
    mode,
    workers,
    source: timetable.source.name,
    origin: timetable.publication?.origin,
    events,
    rejected,
    buildMs,
    bytes,
  };
}

/**
 * What a person reads in development once the service can be used.
 *
 * @param canRefresh whether the admin listener loads on request
 */
export function formatReady(
  service: Pick<Service, 'adminAddress' | 'baseUrl' | 'mode' | 'timetable' | 'workers'>,
  summary: SnapshotSummary,
  example: ExampleRequest | null,
  canRefresh: boolean,
): string {
  const { events, buildMs, bytes } = summary;
  const { publication, source } = service.timetable;
  const how =
    publication?.origin === 'source' ? `loaded in ${formatMs(buildMs)}` : 'read from a snapshot file';
  const threads = service.workers === 1 ? '' : `, ${service.workers} threads`;
  const lines = [
    `Lectern serves ${source.name} at ${service.baseUrl} (${service.mode}${threads})`,
    `${formatCountOf(events, 'event')}, ${how}, ${formatBytes(bytes)} in memory`,
    ...describeRejections(summary),
  ];
  if (service.adminAddress !== null) {
    lines.push(
      `Admin listener: ${service.adminAddress.origin} (/live, /ready, /metrics${canRefresh ? ', POST /refresh' : ''})`,
    );
  }
  if (example !== null) {
    lines.push(
      '',
      'Try it:',
      `  curl -H 'Authorization: Bearer ${example.token}' '${example.url}'`,
      '',
      `Documentation: ${service.baseUrl}/docs`,
      `Another token: ${service.baseUrl}/login`,
    );
  }
  return `${lines.join('\n')}\n`;
}
