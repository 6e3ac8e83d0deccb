/** Errors that clients see, by stable code. Bad configuration and bad sources throw a {@link LecternError} instead. */
export const PROBLEMS = {
  'not-found': { status: 404, title: 'There is no such resource' },
  'event-not-found': { status: 404, title: 'There is no such event' },
  'method-not-allowed': { status: 405, title: 'The resource does not support this method' },
  'method-not-implemented': { status: 501, title: 'The service does not know this method' },
  'transfer-coding-not-implemented': { status: 501, title: 'The service does not know this transfer coding' },
  'version-not-supported': { status: 505, title: 'The service does not speak this version of HTTP' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met' },
  'content-too-large': { status: 413, title: 'The content is too large' },
  'request-target-too-long': { status: 414, title: 'The request target is too long' },
  'credentials-missing': { status: 401, title: 'A bearer token is required' },
  'token-invalid': { status: 401, title: 'The bearer token is not valid' },
  'invalid-request': { status: 400, title: 'The request is malformed' },
  'host-not-allowed': { status: 421, title: 'The request is for another host' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'headers-too-large': { status: 431, title: 'The header fields are too large' },
  'identity-not-mapped': { status: 403, title: 'This user is not mapped to any events' },
  'keys-unavailable': { status: 503, title: 'The keys that verify tokens are not available' },
  'precondition-failed': { status: 412, title: 'The precondition does not hold' },
  'not-acceptable': { status: 406, title: 'None of the accepted media types can be produced' },
  'parameters-invalid': { status: 400, title: 'The query parameters are not valid' },
  'feed-too-long': { status: 400, title: 'The address of the feed would be too long' },
  'snapshot-gone': { status: 410, title: 'The snapshot to compare with is no longer known' },
  'version-not-yet': { status: 503, title: 'This version of the timetable is not served yet' },
  'streams-full': { status: 503, title: 'The service has reached its limit of event streams' },
  'snapshot-stale': { status: 503, title: 'The timetable is out of date' },
  overloaded: { status: 503, title: 'The service has more requests than it can answer' },
  'snapshot-unavailable': { status: 503, title: 'The timetable is still loading' },
  'internal-error': { status: 500, title: 'The service failed' },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** Faults of one query parameter. `parameters-invalid` lists them. */
export const PARAMETER_FAULTS = {
  'unknown-parameter': 'The endpoint has no parameter of this name',
  'malformed-encoding': 'The percent-encoding is broken or is not UTF-8',
  'empty-value': 'The value is empty',
  'missing-parameter': 'The endpoint needs this parameter',
  'repeated-parameter': 'The parameter may be given only once',
  'too-many-values': 'The parameter has more values than allowed',
  'value-too-long': 'The value has more characters than allowed',
  'malformed-identifier': 'The value is not an identifier of this data set',
  'malformed-snapshot': 'The value is neither the id of a snapshot nor an ETag, a version or a time',
  'malformed-text': 'The value is not well-formed text',
  'malformed-time': 'The value is not an RFC 3339 date-time with an offset',
  'malformed-date': 'The value is not a date that exists',
  'malformed-number': 'The value is not a whole number within the range',
  'unknown-time-zone': 'The value is not the name of an IANA time zone',
  'wrong-combination': 'The parameter needs another parameter, or cannot be combined with it',
  'empty-window': 'The window is empty: endTime is not after startTime, or clocks skipped the day',
  'malformed-limit': 'The value of `limit` is not a whole number within the range',
  'malformed-cursor': 'The value is not a cursor from a next link of this endpoint',
  'unknown-value': 'The value is not one of the allowed ones',
} as const;

export type ParameterFaultCode = keyof typeof PARAMETER_FAULTS;

export interface ParameterFault {
  /** The name in the request. */
  readonly parameter: string;
  readonly code: ParameterFaultCode;
  /** One sentence on the fault and its correction. */
  readonly detail: string;
}

/** Stable code of an error. */
export type LecternErrorCode =
  | 'option-invalid'
  | 'source-unreadable'
  | 'source-malformed'
  | 'source-too-large'
  | 'image-unusable'
  | 'image-not-written'
  | 'rooms-unusable'
  | 'snapshot-refused'
  | 'key-missing'
  | 'key-invalid'
  | 'address-unavailable'
  | 'parameters-invalid'
  | 'store-unavailable'
  | 'object-damaged'
  | 'announcement-refused'
  | 'thread-lost'
  | 'not-ready'
  | 'stale'
  | 'closed';

/** Facts of some errors. */
type LecternErrorFacts = Pick<LecternError, 'faults' | 'retryAfterMs'>;

/** The only error class that Lectern throws on purpose. */
export class LecternError extends Error {
  override readonly name = 'LecternError';
  /** For programs; `message` is for people. */
  readonly code: LecternErrorCode;
  /** For `parameters-invalid`: every fault of the query. */
  readonly faults: readonly ParameterFault[];
  /** For `source-unreadable`: the Retry-After of the source in milliseconds, or null. */
  readonly retryAfterMs: number | null;

  constructor(
    code: LecternErrorCode,
    message: string,
    { cause, faults = [], retryAfterMs = null }: ErrorOptions & Partial<LecternErrorFacts> = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.faults = faults;
    this.retryAfterMs = retryAfterMs;
  }
}

/** @param problem with an option, as a sentence */
export function optionInvalid(problem: string, cause?: unknown): LecternError {
  return new LecternError('option-invalid', problem, { cause });
}

/** @param problem a clause on why the source cannot be read */
export function cannotRead(
  name: string,
  problem: string,
  options: ErrorOptions & Partial<LecternErrorFacts> = {},
): LecternError {
  return new LecternError('source-unreadable', `cannot read ${name}: ${problem}`, options);
}

/** @param problem a clause on the bound that the source exceeds */
export function tooLarge(name: string, problem: string): LecternError {
  return new LecternError('source-too-large', `cannot read ${name}: ${problem}`);
}

const FILE_REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory; expected a file',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ELOOP: 'its symbolic links form a loop',
  EIO: 'the device failed (input/output error)',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text',
};

/** Why a file cannot be read, for messages. */
export function fileFault(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return FILE_REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}
