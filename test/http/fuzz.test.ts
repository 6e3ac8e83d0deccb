/** Arbitrary bytes on the socket: always an answer or a closed connection, never an internal fault. */
import { connect } from 'node:net';
import fc from 'fast-check';
import { test } from 'tap';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { serve, setUp, token } from './harness.js';
import { rawCases } from './raw-cases.js';

const RUNS = size(100, 20_000, 400);
const SEED = 20_240_902;

/** Sends the pieces, closes the sending side, and resolves with all bytes received until the service closes the other. */
function exchange(port: number, pieces: readonly Buffer[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    // Only a test that fails waits so long.
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error('neither answered nor closed'));
    }, 5000);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    // Bytes that the service does not read may reset the connection.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
    const send = (n: number): void => {
      const piece = pieces[n];
      if (piece === undefined) socket.end();
      else socket.write(piece, () => setImmediate(send, n + 1));
    };
    send(0);
  });
}

/** The status of each answer; throws unless the bytes are a sequence of answers. */
function statusesOf(text: string): number[] {
  const statuses: number[] = [];
  let rest = text;
  while (rest !== '') {
    const status = Number(/^HTTP\/1\.1 (\d{3}) [^\r\n]+\r\n/.exec(rest)?.[1]);
    const headEnd = rest.indexOf('\r\n\r\n');
    if (Number.isNaN(status) || headEnd < 0)
      throw new Error(`no answer: ${JSON.stringify(rest.slice(0, 80))}`);
    const length = Number(/\r\nContent-Length: (\d+)\r\n/.exec(rest.slice(0, headEnd + 2))?.[1] ?? 0);
    if (rest.length < headEnd + 4 + length) throw new Error('an answer that is not whole');
    rest = rest.slice(headEnd + 4 + length);
    statuses.push(status);
  }
  return statuses;
}

const ALLOWED_5XX: readonly number[] = [501, 505];
const isOurFault = (status: number): boolean => status >= 500 && !ALLOWED_5XX.includes(status);

/** Position, number of removed bytes, and the inserted bytes. */
const edit = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(4), fc.uint8Array({ maxLength: 6 }));

function mutated(bytes: Buffer, edits: readonly (readonly [number, number, Uint8Array])[]): Buffer {
  let result = bytes;
  for (const [where, gone, come] of edits) {
    const at = Math.floor(where * result.length);
    result = Buffer.concat([result.subarray(0, at), come, result.subarray(at + gone)]);
  }
  return result;
}

/** The same bytes in up to three pieces. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => Math.floor(place * bytes.length)), bytes.length].sort(
    (a, b) => a - b,
  );
  return at.slice(1).map((end, n) => bytes.subarray(at[n], end));
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 2 });

test('arbitrary bytes and damaged requests never cause a 5xx or a hang', async (t) => {
  const { handler, logged } = setUp();
  const { port, send } = await serve(t, handler);
  const cases = rawCases(`Authorization: Bearer ${token()}\r\n`)
    // No HEAD, because `statusesOf` could not tell where an answer without a body ends. No long requests,
    // because they take long.
    .filter(({ bytes }) => !bytes.startsWith('HEAD') && bytes.length < 3000)
    .map(({ bytes }) => Buffer.from(bytes, 'latin1'));
  const request = fc.constantFrom(...cases);
  const seen = new Map<number, number>();
  const check = async (pieces: readonly Buffer[]): Promise<void> => {
    const statuses = statusesOf(await exchange(port, pieces));
    for (const status of statuses) seen.set(status, (seen.get(status) ?? 0) + 1);
    const faults = statuses.filter(isOurFault);
    if (faults.length > 0) throw new Error(`status ${faults.join(', ')}`);
  };
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 400 }), places, (bytes, at) =>
      check(cut(Buffer.from(bytes), at)),
    ),
    { numRuns: RUNS / 4, seed: SEED },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(request, fc.array(edit, { maxLength: 3 })), { minLength: 1, maxLength: 3 }),
      places,
      (requests, at) =>
        check(cut(Buffer.concat(requests.map(([bytes, edits]) => mutated(bytes, edits))), at)),
    ),
    { numRuns: RUNS, seed: SEED },
  );
  t.same(
    logged.filter(({ level }) => level === 'error'),
    [],
  );
  t.ok((seen.get(200) ?? 0) > 0 && (seen.get(400) ?? 0) > RUNS / 20, 'good and bad ones are among them');
  t.equal((await send('/nowhere')).status, 404, 'and it still answers');
  if (HARD) {
    const answers = [...seen.values()].reduce((sum, n) => sum + n, 0);
    t.comment(`${answers} answers: ${JSON.stringify([...seen])}`);
    recordFigure(
      'fuzz',
      `${t.passing() ? 'none' : 'NOT none'} in ${answers} answers`,
      Object.fromEntries(seen),
    );
  }
});
