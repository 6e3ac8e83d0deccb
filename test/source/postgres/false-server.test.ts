import type { Socket } from 'node:net';
import { test } from 'tap';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { Database } from '../../../src/source/postgres/database.js';
import { MessageGuard } from '../../../src/source/postgres/message-guard.js';
import { postgresSource } from '../../../src/source/postgres/postgres.js';
import { parsePostgresAddress } from '../../../src/source/postgres/postgres-address.js';
import { description, int16, int32, message, type Point, row, startFalseServer } from './false-server.js';

const GIB = 2 ** 30;
const header = (type: string, bytes: number): Buffer => Buffer.concat([Buffer.from(type), int32(bytes)]);
const POINTS: readonly Point[] = ['login', 'statement', 'copy'];

/** A message of `bytes` bytes with this start, sent in pieces while the client takes them. */
function long(type: string, start: string, bytes: number): (socket: Socket) => void {
  return (socket) => {
    socket.write(header(type, 4 + start.length + bytes));
    socket.write(start);
    const piece = Buffer.alloc(64 * 1024, 0x20);
    for (let left = bytes; left > 0; left -= piece.length) socket.write(piece.subarray(0, left));
  };
}

const send =
  (...parts: readonly Buffer[]) =>
  (socket: Socket): void =>
    void socket.write(Buffer.concat(parts));

interface Attack {
  readonly name: string;
  readonly bytes: (socket: Socket) => void;
  /** How the load ends; null: with both events. */
  readonly end: RegExp | null;
  readonly points?: readonly Point[];
}

const ATTACKS: readonly Attack[] = [
  { name: 'a notice without an end', bytes: send(message('N', 'Mtext')), end: null },
  { name: 'a parameter without an end', bytes: send(message('S', 'zone')), end: null },
  { name: 'a notice of 8 MiB', bytes: long('N', 'M', 8 * 2 ** 20), end: null },
  { name: 'an error without an end', bytes: send(message('E', 'Mtext')), end: /: text$/ },
  {
    name: 'an error of 8 MiB of spaces',
    bytes: long('E', 'SERROR\0C42501\0M', 8 * 2 ** 20),
    end: /a privilege is missing; the server says: …$/,
  },
  {
    name: 'an error of 8 MiB of detail',
    bytes: long('E', 'SERROR\0Mwrong\0D', 8 * 2 ** 20),
    end: /the server says: wrong$/,
  },
  {
    name: 'a row description of 2 GB',
    bytes: send(header('T', 2 * GIB - 1)),
    end: /RowDescription with the length 2147483647; expected 4 to 1048580$/,
  },
  { name: 'a row of 2 GB', bytes: send(header('D', 2 * GIB - 1)), end: /DataRow with the length 2147483647/ },
  { name: 'an unknown message', bytes: send(message('?', 'text')), end: /unknown message "\?"/ },
  ...['N', 'S', 'E', 'T', 'D', 'd', 'Z', 'A', 'C', 'R'].flatMap((type) => [
    { name: `${type} with a negative length`, bytes: send(header(type, -5)), end: /with the length -5/ },
    { name: `${type} with the length 0`, bytes: send(header(type, 0)), end: /with the length 0/ },
  ]),
  {
    name: 'a row description that ends early',
    bytes: send(message('T', int16(3), 'id')),
    end: /a malformed message, or a message out of turn/,
  },
  {
    name: 'a row with a value before its start',
    bytes: send(message('D', int16(2), int32(-9), 'text')),
    end: /malformed message DataRow/,
  },
  {
    name: 'a row whose value is longer than the row',
    bytes: send(message('D', int16(1), int32(8), 'text')),
    end: /malformed message DataRow/,
  },
  {
    name: 'a list of logins without an end',
    bytes: send(message('R', int32(10), 'SCRAM')),
    end: /malformed message Authentication/,
  },
  {
    name: 'a row before a description',
    bytes: send(row('text')),
    end: /a message out of turn|unexpected dataRow message/,
  },
  {
    name: 'rows of 65 MiB for one statement',
    bytes(socket) {
      socket.write(description(['id']));
      const one = row('x'.repeat(1024 * 1024));
      for (let n = 0; n < 65; n++) socket.write(one);
    },
    end: /the rows of one statement have more than 67108864 bytes/,
    points: ['statement'],
  },
];

test('whatever a false server sends, the load ends with a result or an error that names the fault', async (t) => {
  const server = await startFalseServer((end) => t.teardown(end));
  const source = postgresSource({ kind: 'postgres', url: server.url, query: 'SELECT * FROM lessons' });
  for (const { name, bytes, end, points = POINTS } of ATTACKS) {
    for (const point of points) {
      server.attack(point, bytes);
      const outcome = await loadImage(source, { identifiers: 'uuid' }).then(
        ({ image }) => image.summary.events,
        (error: Error) => error.message,
      );
      if (end === null) t.equal(outcome, 2, `${name}, at the ${point}`);
      else t.match(outcome, end, `${name}, at the ${point}`);
    }
  }
});

test('statements of one connection never overlap, so pg warns of nothing', async (t) => {
  const server = await startFalseServer((end) => t.teardown(end));
  const warnings: string[] = [];
  const note = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  const database = await Database.open(parsePostgresAddress(server.url, {}), {
    name: 'x',
    answerMsMax: 20_000,
  });
  t.teardown(() => database.close());
  const all = await Promise.all([1, 2, 3].map((n) => database.query(`SELECT ${n} AS id`)));
  t.equal(all.length, 3);
  await database.beat(20_000);
  t.strictSame(warnings, []);
});

test('messages pass a guard unchanged, however the network cuts them', async (t) => {
  const notice = message('N', 'Mnotice\0\0');
  const before = [message('H', Buffer.from([0]), int16(1), int16(0)), message('d', 'one row\n')];
  const after = [
    message('d', ''),
    message('d', 'x'.repeat(3000)),
    message('c'),
    ...[description(['id', 'title']), row('1', 'Lesson'), message('Z', 'I')],
  ];
  const all = Buffer.concat([...before, notice, ...after]);
  const expected = Buffer.concat([...before, ...after]);
  for (const bytes of [1, 2, 3, 5, 7, 64, 1000, all.length]) {
    const guard = new MessageGuard();
    guard.isCopying = true;
    const passed: Buffer[] = [];
    for (let at = 0; at < all.length; at += bytes) passed.push(guard.take(all.subarray(at, at + bytes)));
    t.same(Buffer.concat(passed), expected, `in pieces of ${bytes} bytes`);
    t.equal(guard.isCopying, false);
  }
});
