import { usable } from './inner-parts.js';

/** What node adds to the error of its parser. */
interface ParserError extends NodeJS.ErrnoException {
  /** What arrived last, at most the size of one read. */
  readonly rawPacket?: Buffer;
  /** Where in it the parser stopped. */
  readonly bytesParsed?: number;
  readonly reason?: string;
}

/** What was wrong with a request that node:http could not read. */
export interface ParserFault {
  readonly code: string;
  /** What arrived last; empty where it is not known. */
  readonly packet: string;
  /** The same from the line on where the parser stopped. */
  readonly line: string;
  /** A line does not end with CR LF. The parser has several codes for that, and only its words tell. */
  readonly isLineEnd: boolean;
}

export function parserFaultOf(error: ParserError): ParserFault {
  const { code = '', reason, rawPacket, bytesParsed = 0 } = error;
  if (!usable.parserErrors) return { code, packet: '', line: '', isLineEnd: false };
  const packet = rawPacket?.toString('latin1') ?? '';
  const lineStart = bytesParsed === 0 ? 0 : packet.lastIndexOf('\n', bytesParsed - 1) + 1;
  const isLineEnd = /^(?:Expected CRLF|Missing expected CR)/.test(reason ?? '');
  return { code, packet, line: packet.slice(lineStart), isLineEnd };
}
