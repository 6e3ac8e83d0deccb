import { LecternError } from '../errors.js';
import { parseQueryString } from '../http/request/query-string.js';
import type { IdentifierMode } from '../model/event.js';
import { invalidParameters } from '../query/object-form.js';
import { type ParameterPairs, type ParseOptions, parseParameters } from '../query/parameters.js';

export const PARSE_OPTIONS: ParseOptions = { unknownParameters: 'reject' };

/**
 * The parameters of GET /schedule, checked before a source is read.
 *
 * @param request a query string, or a path or an address with one
 * @param verb what only GET /schedule can be, for the message
 */
export function readScheduleRequest(
  request: string,
  identifiers: IdentifierMode,
  verb: string,
): ParameterPairs {
  const { pairs, faults } = parseQueryString(queryOf(request, verb));
  const parsed = parseParameters('schedule', pairs, PARSE_OPTIONS, { identifiers, hasValue: () => false });
  const allFaults = 'faults' in parsed ? [...faults, ...parsed.faults] : faults;
  if (allFaults.length > 0) throw invalidParameters(allFaults);
  return pairs;
}

function queryOf(request: string, verb: string): string {
  const [, path = '', query = ''] = /^((?:https?:\/)?\/[^?]*)?\??(.*)$/s.exec(request) ?? [];
  if (path === '' || /\/schedule\/?$/.test(path)) return query;
  throw new LecternError('option-invalid', `only GET /schedule can be ${verb}, not ${JSON.stringify(path)}`);
}
