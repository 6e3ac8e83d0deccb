/**
 * The parts of node:http and node:net that are no public API and that this folder uses. Each is checked once per process, on a
 * connection made for the check. A feature whose parts are not as expected is not used: its public substitute is slower.
 */
import { type InnerPart, probeInnerParts } from './probe.js';

/** Each feature with the parts that it needs. */
const FEATURES = {
  /** Answering a request before node:http makes a response for it: lone-request.ts. */
  loneRequests: ['parser.onIncoming', 'parser.incoming'],
  /** Sending a whole answer past the response: direct.ts. */
  directAnswers: ['response._header', 'response.finished'],
  /** Counting the bytes that the system has taken: bytes-taken.ts. */
  writeProgress: ['handle.bytesWritten', 'handle.writeQueueSize'],
  /** Seeing what arrived behind a request: lone-request.ts. */
  readAhead: ['parser.getCurrentBuffer'],
  /** Taking the connections that wait at a port before it is closed: listener.ts. */
  shortBacklog: ['listener.listen'],
  /** Sharing a port among threads: listener.ts. */
  descriptor: ['listener.fd'],
  /** Answering clients that have closed their half: half-close.ts. */
  halfOpen: ['server.httpAllowHalfOpen'],
  /** Closing a connection gently: half-close.ts. */
  gentleClose: ['socket.destroySoon'],
  /** Saying what was wrong with unreadable requests: parser-error.ts. */
  parserErrors: ['error.reason', 'error.rawPacket', 'error.bytesParsed'],
} satisfies Record<string, readonly InnerPart[]>;

type Feature = keyof typeof FEATURES;

/** What may be used. Nothing is before the check. */
export const usable: Record<Feature, boolean> = Object.fromEntries(
  Object.keys(FEATURES).map((feature) => [feature, false]),
) as Record<Feature, boolean>;

let checking: Promise<readonly InnerPart[]> | null = null;
let missing: readonly InnerPart[] = [];

/** The parts that were not as expected; empty before the check. */
export function missingInnerParts(): readonly InnerPart[] {
  return missing;
}

/** Checks the parts, the first time. @returns those that are missing */
export function checkInnerParts(): Promise<readonly InnerPart[]> {
  checking ??= probeInnerParts().then(useInnerParts);
  return checking;
}

/** Takes the result of a check: of the main thread, in the others. */
export function useInnerParts(found: readonly InnerPart[]): readonly InnerPart[] {
  missing = found;
  checking = Promise.resolve(found);
  for (const feature of Object.keys(FEATURES) as Feature[]) {
    usable[feature] = !FEATURES[feature].some((part: InnerPart) => found.includes(part));
  }
  return found;
}
