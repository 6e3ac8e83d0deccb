import { LecternError } from '../errors.js';
import { parseQueryString } from '../http/request/query-string.js';
import type { IdentifierMode } from '../model/event.js';
import type { EndpointName } from '../query/endpoint-parameters.js';
import { invalidParameters } from '../query/object-form.js';
import { type ParameterPairs, type ParseOptions, parseParameters } from '../query/parameters.js';

interface ScheduleRequest<Endpoint> {
  readonly endpoint: Endpoint;
  readonly pairs: ParameterPairs;
}

/**
 * The parameters of a request, checked before a source is read.
 *
 * @param request a query string of GET /schedule, or a path or an address with one
 * @param verb what only these endpoints can be, for the message
 */
export function readScheduleRequest<Endpoint extends EndpointName>(
  request: string,
  options: ParseOptions,
  identifiers: IdentifierMode,
  verb: string,
  endpoints: readonly Endpoint[],
): ScheduleRequest<Endpoint> {
  const { endpoint, query } = splitRequest(request, verb, endpoints);
  const { pairs, faults } = parseQueryString(query);
  const parsed = parseParameters(endpoint, pairs, options, { identifiers, hasValue: () => false });
  const allFaults = 'faults' in parsed ? [...faults, ...parsed.faults] : faults;
  if (allFaults.length > 0) throw invalidParameters(allFaults);
  return { endpoint, pairs };
}

function splitRequest<Endpoint extends EndpointName>(
  request: string,
  verb: string,
  endpoints: readonly Endpoint[],
): { endpoint: Endpoint; query: string } {
  const [, path = '/schedule', query = ''] = /^((?:https?:\/)?\/[^?]*)?\??(.*)$/s.exec(request) ?? [];
  const pathOf = (name: EndpointName): string => (name === 'schedule' ? '/schedule' : `/schedule/${name}`);
  const endpoint = endpoints.find((name) => path.replace(/\/$/, '').endsWith(pathOf(name)));
  if (endpoint !== undefined) return { endpoint, query };
  const paths = endpoints.map(pathOf).join(', ');
  throw new LecternError('option-invalid', `only GET ${paths} can be ${verb}, not ${JSON.stringify(path)}`);
}
