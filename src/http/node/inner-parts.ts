/**
 * Room http/node/. The only room that touches the inside of node:http. It knows nothing of timetables or tokens.
 */

/**
 * What this folder uses of node:http and node:net that is no public API. Each part is checked once per process, on a connection made
 * for the check. A feature whose parts are not as expected is not used: its public substitute is slower.
 */
import { type InnerPart, probeInnerParts } from './probe.js';

interface Features<Value> {
  /** Answering a request before node:http makes a response for it. */
  loneRequests: Value;
  /** Sending a whole answer past the response. */
  directAnswers: Value;
  /** Counting the bytes that the system has taken. */
  writeProgress: Value;
  /** Seeing what arrived behind a request. */
  readAhead: Value;
  /** Taking the connections that wait at a port before it is closed. */
  shortBacklog: Value;
  /** Sharing a port among threads. */
  descriptor: Value;
  /** Answering clients that have closed their half. */
  halfOpen: Value;
  /** Reading on for a moment behind the last answer. */
  gentleClose: Value;
  /** Saying what was wrong with unreadable requests. */
  parserErrors: Value;
}

const PARTS: Features<readonly InnerPart[]> = {
  loneRequests: ['parser.onIncoming', 'parser.incoming'],
  directAnswers: ['response._header', 'response.finished'],
  writeProgress: ['handle.bytesWritten', 'handle.writeQueueSize'],
  readAhead: ['parser.getCurrentBuffer'],
  shortBacklog: ['listener.listen'],
  descriptor: ['listener.fd'],
  halfOpen: ['server.httpAllowHalfOpen'],
  gentleClose: ['socket.destroySoon'],
  parserErrors: ['error.reason', 'error.rawPacket', 'error.bytesParsed'],
};

/** What may be used. Nothing is before the check. */
export const usable: Features<boolean> = usableWithout(Object.values(PARTS).flat());

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

/** Takes the result of a check: that of the main thread, in the others. */
export function useInnerParts(found: readonly InnerPart[]): readonly InnerPart[] {
  missing = found;
  checking = Promise.resolve(found);
  Object.assign(usable, usableWithout(found));
  return found;
}

function usableWithout(found: readonly InnerPart[]): Features<boolean> {
  return Object.fromEntries(
    Object.entries(PARTS).map(([feature, parts]) => [
      feature,
      !parts.some((part: InnerPart) => found.includes(part)),
    ]),
  ) as unknown as Features<boolean>;
}
