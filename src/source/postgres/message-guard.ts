import type { Duplex } from 'node:stream';
import type { Client } from 'pg';
import {
  DATABASE_ANSWER_BYTES_MAX,
  DATABASE_ERROR_BYTES_MAX,
  DATABASE_ERROR_TEXT_UNITS_MAX,
  DATABASE_MESSAGE_BYTES_MAX,
  DATABASE_ROW_BYTES_MAX,
} from '../../base/limits.js';

/** The server does not keep to the protocol, or sends more than is read. */
export class ProtocolFault extends Error {}

export const OUT_OF_TURN = 'the server sent a malformed message, or a message out of turn';

/** The messages that `pg` reads; see "Message Formats" in the documentation of PostgreSQL. */
const NAMES: Readonly<Record<string, string>> = {
  1: 'ParseComplete',
  2: 'BindComplete',
  3: 'CloseComplete',
  c: 'CopyDone',
  n: 'NoData',
  s: 'PortalSuspended',
  I: 'EmptyQueryResponse',
  Z: 'ReadyForQuery',
  K: 'BackendKeyData',
  C: 'CommandComplete',
  R: 'Authentication',
  A: 'NotificationResponse',
  G: 'CopyInResponse',
  H: 'CopyOutResponse',
  W: 'CopyBothResponse',
  t: 'ParameterDescription',
  T: 'RowDescription',
  D: 'DataRow',
  d: 'CopyData',
};

const ERROR = 'E';
/** NoticeResponse, ParameterStatus, NegotiateProtocolVersion: nothing here reads them. */
const DROPPED: ReadonlySet<string> = new Set(['N', 'S', 'v']);
/** Messages that do not end a COPY. */
const DURING_COPY: ReadonlySet<string> = new Set(['H', 'd', 'A']);
const COPY_DATA = 0x64;
const HEADER_BYTES = 5;
const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Checks what a server sends before `pg` sees it: `pg` waits for as many bytes as a message claims to have, its parser
 * never returns from an error without an end, and reads a value of a negative length as a way back. Every message is held
 * until it is complete; CopyData of a COPY passes in pieces. Texts of errors are cut.
 */
export class MessageGuard {
  /** Whether a COPY is read, in pieces and not as messages. */
  isCopying = false;
  /** When the last bytes came. */
  heardMs: number = performance.now();
  readonly #header: Buffer = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #type = '';
  /** Bytes of the present message that have not come. */
  #left = 0;
  #isPassing = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Bytes of rows since the last end of a statement. */
  #answerBytes = 0;

  /**
   * @returns the complete messages that these bytes end
   * @throws ProtocolFault
   */
  take(chunk: Buffer): Buffer {
    const begun = this.isCopying ? this.#passRows(chunk) : 0;
    if (begun === chunk.length) return chunk;
    const passed = [chunk.subarray(0, begun)];
    for (let at = begun; at < chunk.length; ) {
      if (this.#headerBytes < HEADER_BYTES) {
        const to = Math.min(chunk.length, at + HEADER_BYTES - this.#headerBytes);
        this.#headerBytes += chunk.copy(this.#header, this.#headerBytes, at, to);
        at = to;
        if (this.#headerBytes < HEADER_BYTES) break;
        this.#begin();
        if (this.#isPassing) passed.push(Buffer.from(this.#header));
      }
      const to = Math.min(chunk.length, at + this.#left);
      if (to > at) this.#add(chunk.subarray(at, to), passed);
      at = to;
      if (this.#left === 0) this.#end(passed);
    }
    return Buffer.concat(passed);
  }

  /** Passes rows of a COPY without a copy of their bytes. Returns where other bytes begin. */
  #passRows(chunk: Buffer): number {
    for (let at = 0; ; ) {
      if (this.#left > 0) {
        if (!this.#isPassing) return at;
        const bytes = Math.min(this.#left, chunk.length - at);
        this.#left -= bytes;
        at += bytes;
        if (this.#left > 0) return at;
        this.#headerBytes = 0;
      }
      if (this.#headerBytes > 0 || chunk.length - at < HEADER_BYTES || chunk[at] !== COPY_DATA) return at;
      const bytes = chunk.readInt32BE(at + 1) - 4;
      // The message is refused, or has no body.
      if (bytes <= 0) return at;
      at += HEADER_BYTES;
      this.#headerBytes = HEADER_BYTES;
      this.#isPassing = true;
      this.#left = bytes;
    }
  }

  #begin(): void {
    this.#type = String.fromCharCode(this.#header[0] as number);
    const bytes = this.#header.readInt32BE(1) - 4;
    this.#left = bytes;
    this.#isPassing = this.isCopying && this.#type === 'd';
    if (this.#type === ERROR || DROPPED.has(this.#type) || this.#isPassing) {
      if (bytes < 0)
        throw new ProtocolFault(`the server sent a message ${this.#shown} with the length ${bytes + 4}`);
      return;
    }
    const name = NAMES[this.#type];
    if (name === undefined) throw new ProtocolFault(`the server sent an unknown message ${this.#shown}`);
    const isRow = this.#type === 'D' || this.#type === 'd';
    const bytesMax = isRow ? DATABASE_ROW_BYTES_MAX : DATABASE_MESSAGE_BYTES_MAX;
    if (bytes < 0 || bytes > bytesMax) {
      throw new ProtocolFault(
        `the server sent a message ${name} with the length ${bytes + 4}; expected 4 to ${bytesMax + 4}`,
      );
    }
    if (this.#type === 'Z') this.#answerBytes = 0;
    if (this.#type === 'D') this.#answerBytes += bytes;
    if (this.#answerBytes > DATABASE_ANSWER_BYTES_MAX)
      throw new ProtocolFault(`the rows of one statement have more than ${DATABASE_ANSWER_BYTES_MAX} bytes`);
  }

  get #shown(): string {
    return JSON.stringify(this.#type);
  }

  #add(bytes: Buffer, passed: Buffer[]): void {
    this.#left -= bytes.length;
    if (this.#isPassing) {
      passed.push(bytes);
      return;
    }
    const kept = DROPPED.has(this.#type)
      ? 0
      : this.#type === ERROR
        ? DATABASE_ERROR_BYTES_MAX - this.#heldBytes
        : bytes.length;
    if (kept <= 0) return;
    this.#held.push(bytes.subarray(0, kept));
    this.#heldBytes += Math.min(kept, bytes.length);
  }

  #end(passed: Buffer[]): void {
    const type = this.#type;
    const body = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    this.#headerBytes = 0;
    if (this.#isPassing || DROPPED.has(type)) return;
    if (type === ERROR) {
      this.isCopying = false;
      passed.push(cutError(body));
      return;
    }
    if (!DURING_COPY.has(type)) this.isCopying = false;
    if ((type === 'D' && !isDataRow(body)) || (type === 'R' && !isAuthentication(body)))
      throw new ProtocolFault(`the server sent a malformed message ${NAMES[type]}`);
    passed.push(Buffer.from(this.#header), body);
  }
}

/** The fields of an error that messages use (severity, SQLSTATE, text, hint), as a well-formed message. */
function cutError(body: Buffer): Buffer {
  const fields = new Map([['M', '']]);
  for (let at = 0; at < body.length && body[at] !== 0; ) {
    const end = body.indexOf(0, at + 1);
    const to = end === -1 ? body.length : end;
    const text = body.toString('utf8', at + 1, Math.min(to, at + 1 + 4 * DATABASE_ERROR_TEXT_UNITS_MAX));
    fields.set(String.fromCharCode(body[at] as number), cutText(text));
    at = to + 1;
  }
  const texts = ['S', 'C', 'M', 'H'].flatMap((type) => {
    const text = fields.get(type);
    return text === undefined ? [] : `${type}${text}\0`;
  });
  const message = Buffer.from(`${ERROR}\0\0\0\0${texts.join('')}\0`);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}

function cutText(text: string): string {
  return text.length <= DATABASE_ERROR_TEXT_UNITS_MAX
    ? text
    : `${text.slice(0, DATABASE_ERROR_TEXT_UNITS_MAX)}…`;
}

/** Codes with a body of their own: 0 is the end, 3 and 5 ask for a password, 10 lists ways to log in. */
function isAuthentication(body: Buffer): boolean {
  if (body.length < 4) return false;
  const code = body.readInt32BE(0);
  if (code === 0 || code === 3) return body.length === 4;
  if (code === 5) return body.length === 8;
  return code !== 10 || (body.length >= 5 && body.at(-1) === 0 && (body.length === 5 || body.at(-2) === 0));
}

/** Whether the values of a row fill its body. */
function isDataRow(body: Buffer): boolean {
  if (body.length < 2) return false;
  let at = 2;
  for (let n = body.readInt16BE(0); n > 0; n--) {
    if (at + 4 > body.length) return false;
    const bytes = body.readInt32BE(at);
    if (bytes < -1) return false;
    at += 4 + Math.max(0, bytes);
  }
  return at === body.length;
}

/** The parts of `pg` that its types omit. */
interface Connection {
  attachListeners(stream: Duplex): void;
}

/**
 * Puts a guard between the socket of a client, after TLS, and the parser. A fault of the guard or the parser ends the
 * connection; an error that leaves the parser would otherwise end the thread. Call this before connecting.
 */
export function guardMessages(client: Client): MessageGuard {
  const guard = new MessageGuard();
  const { connection } = client as unknown as { readonly connection: Connection };
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    const push = stream.push.bind(stream);
    // All bytes of a socket come through `push`, also while a COPY reads them without the parser.
    stream.push = (chunk: Buffer | null) => {
      if (chunk === null) return push(null);
      guard.heardMs = performance.now();
      let passed = NOTHING;
      try {
        passed = guard.take(chunk);
      } catch (error) {
        stream.destroy(error as ProtocolFault);
      }
      return push(passed);
    };
    attach(stream);
    const [parse] = stream.listeners('data') as [(chunk: Buffer) => void];
    stream.off('data', parse);
    stream.on('data', (chunk: Buffer) => {
      try {
        parse(chunk);
      } catch (cause) {
        stream.destroy(new ProtocolFault(OUT_OF_TURN, { cause }));
      }
    });
  };
  return guard;
}
