/**
 * Load at a fixed rate, in an open loop: request n is due n intervals after the beginning, whatever became of those
 * before it, and its latency counts from that instant. Where all connections are busy it waits, and the wait counts. So a
 * pause of the server is seen by all requests that were due meanwhile (no coordinated omission).
 */
import { createConnection } from 'node:net';

const HEAD_END = '\r\n\r\n';
/** "HTTP/1.1 " comes before the status. */
const STATUS_AT = 9;

/** A connection with at most one request in progress. */
class Connection {
  #socket;
  #onAnswer;
  #dueMs = 0;
  /** Bytes of a head that has not come whole. */
  #head = null;
  /** Bytes of the body that are still to come; -1 before the head. */
  #missing = -1;
  #status = 0;

  /** @param {(connection: Connection, status: number, dueMs: number) => void} onAnswer */
  constructor(port, onAnswer, onFault) {
    this.#onAnswer = onAnswer;
    this.#socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('data', (chunk) => {
      try {
        this.#take(chunk);
      } catch (error) {
        onFault(error);
      }
    });
    this.#socket.once('error', onFault);
    this.#socket.once('end', () => onFault(new Error('the server closed a connection')));
  }

  ready() {
    return new Promise((resolve) => this.#socket.once('connect', resolve));
  }

  send(text, dueMs) {
    this.#dueMs = dueMs;
    this.#socket.write(text, 'latin1');
  }

  end() {
    this.#socket.destroy();
  }

  #take(chunk) {
    let bodyBytes = chunk.length;
    if (this.#missing === -1) {
      const bytes = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
      const end = bytes.indexOf(HEAD_END);
      if (end === -1) {
        this.#head = bytes;
        return;
      }
      this.#head = null;
      const head = bytes.latin1Slice(0, end);
      this.#status = Number(head.slice(STATUS_AT, STATUS_AT + 3));
      this.#missing = this.#status === 304 ? 0 : lengthIn(head);
      bodyBytes = bytes.length - end - HEAD_END.length;
    }
    this.#missing -= bodyBytes;
    if (this.#missing < 0) throw new Error('an answer is longer than its Content-Length');
    if (this.#missing > 0) return;
    this.#missing = -1;
    this.#onAnswer(this, this.#status, this.#dueMs);
  }
}

function lengthIn(head) {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length === null) throw new Error('an answer has no Content-Length');
  return Number(length[1]);
}

function textOf({ path, headers }, port) {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${fields.join('')}\r\n`;
}

/**
 * @param {{ port: number, amount: number, rate: number, connections: number }} run `rate`: requests a second; Infinity
 * for as many as the server answers
 * @param {() => { path: string, headers: Record<string, string> }} next the next request
 * @param {(status: number, latencyMs: number) => void} onAnswer
 * @returns {Promise<number>} the seconds from the first due instant to the last answer
 * @throws Error if a connection fails, or an answer has no Content-Length
 */
export async function sendAtRate({ port, amount, rate, connections }, next, onAnswer) {
  const intervalMs = 1000 / rate;
  const idle = [];
  const all = [];
  let left = amount;
  let sent = 0;
  try {
    return await new Promise((resolve, reject) => {
      let beganMs = 0;
      const taken = (connection, status, dueMs) => {
        const nowMs = performance.now();
        onAnswer(status, nowMs - dueMs);
        idle.push(connection);
        if (--left === 0) resolve((nowMs - beganMs) / 1000);
      };
      // A timer is late by up to a millisecond, so the loop turns without a pause.
      const turn = () => {
        const nowMs = performance.now();
        while (sent < amount && idle.length > 0 && beganMs + sent * intervalMs <= nowMs) {
          const dueMs = rate === Number.POSITIVE_INFINITY ? nowMs : beganMs + sent * intervalMs;
          sent++;
          idle.pop().send(textOf(next(), port), dueMs);
        }
        if (left > 0) setImmediate(turn);
      };
      for (let n = 0; n < connections; n++) all.push(new Connection(port, taken, reject));
      Promise.all(all.map((each) => each.ready())).then(() => {
        idle.push(...all);
        beganMs = performance.now();
        turn();
      });
    });
  } finally {
    left = 0;
    for (const connection of all) connection.end();
  }
}
