import type { EndpointName } from '../answer/endpoint-parameters.js';
import { invalidParameters } from '../answer/object-form.js';
import { type ParameterPairs, type ParseOptions, parseParameters } from '../answer/parameters.js';
import { optionInvalid } from '../base/errors.js';
import type { IdentifierMode } from '../base/model/event.js';
import { parseQueryString } from '../http/request/target.js';

/**
 * Parses an endpoint and its parameters before a source is read.
 *
 * @param request a query string of GET /schedule, or a path or address with one
 * @param verb what can be done with these endpoints, for the message
 */
export function readScheduleRequest<Name extends EndpointName>(
  request: string,
  options: ParseOptions,
  identifiers: IdentifierMode,
  verb: string,
  endpoints: readonly Name[],
): { readonly endpoint: Name; readonly pairs: ParameterPairs } {
  const [, path = '', query = ''] = /^((?:https?:\/)?\/[^?]*)?\??(.*)$/s.exec(request) ?? [];
  const endpoint = endpoints.find((name) =>
    (path === '' ? '/schedule' : path.replace(/\/$/, '')).endsWith(pathOf(name)),
  );
  if (endpoint === undefined) {
    const known = endpoints.map(pathOf).join(', ');
    throw optionInvalid(`only GET ${known} can be ${verb}, not ${JSON.stringify(path)}`);
  }
  const { pairs, faults } = parseQueryString(query);
  const parsed = parseParameters(endpoint, pairs, options, { identifiers, hasValue: () => false });
  const allFaults = 'faults' in parsed ? [...faults, ...parsed.faults] : faults;
  if (allFaults.length > 0) throw invalidParameters(allFaults);
  return { endpoint, pairs };
}

function pathOf(endpoint: EndpointName): string {
  return endpoint === 'schedule' ? '/schedule' : `/schedule/${endpoint}`;
}
