/** A false server that speaks as much of PostgreSQL's protocol as one load needs, and sends given bytes at one point. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

type Teardown = (end: () => unknown) => unknown;

/** When the bytes are sent: before the login, before the answer to a statement, or after the first row of the COPY. */
export type Point = 'login' | 'statement' | 'copy';

export interface FalseServer {
  readonly url: string;
  /** Connections so far. */
  connections(): number;
  /** From now on, sends these bytes and then what the load expects. Without bytes, the server is a good one. */
  attack(point: Point, bytes: (socket: Socket) => void): void;
}

export function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const READY = message('Z', 'I');
const LOGGED_IN = Buffer.concat([message('R', int32(0)), READY]);
const DONE = message('C', 'SELECT 1\0');

export function description(columns: readonly string[], type = 25): Buffer {
  const fields = columns.flatMap((name) => [
    `${name}\0`,
    int32(0),
    int16(0),
    int32(type),
    int16(-1),
    int32(-1),
    int16(0),
  ]);
  return message('T', int16(columns.length), ...fields);
}

export function row(...values: readonly string[]): Buffer {
  return message('D', int16(values.length), ...values.flatMap((each) => [int32(each.length), each]));
}

const COLUMNS = ['id', 'time', 'endTime'];
/** A type of the server's user, so that values come as JSON. */
const OTHER_TYPE = 20_000;

export async function startFalseServer(teardown: Teardown): Promise<FalseServer> {
  let connections = 0;
  let attacked: { readonly point: Point; readonly bytes: (socket: Socket) => void } | null = null;
  const strike = (point: Point, socket: Socket): void => {
    if (attacked?.point === point) attacked.bytes(socket);
  };
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => {});
    let isLoggedIn = false;
    let rest = Buffer.alloc(0);
    socket.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      for (;;) {
        const header = isLoggedIn ? 1 : 0;
        if (rest.length < header + 4) return;
        const bytes = header + rest.readInt32BE(header);
        if (rest.length < bytes) return;
        const asked = rest.subarray(0, bytes).toString();
        rest = rest.subarray(bytes);
        if (isLoggedIn) answer(socket, asked);
        else {
          isLoggedIn = true;
          strike('login', socket);
          socket.write(LOGGED_IN);
        }
      }
    });
  });
  const answer = (socket: Socket, asked: string): void => {
    if (asked.startsWith('Q')) {
      if (!asked.includes('COPY')) strike('statement', socket);
      if (asked.includes('LIMIT 0')) socket.write(description(COLUMNS, OTHER_TYPE));
      if (asked.includes('COPY')) {
        socket.write(message('H', Buffer.from([0]), int16(1), int16(0)));
        socket.write(message('d', BINARY_BEGIN, binaryRow(1)));
        strike('copy', socket);
        socket.write(Buffer.concat([message('d', binaryRow(2), int16(-1)), message('c')]));
      }
      socket.write(Buffer.concat([DONE, READY]));
    } else if (asked.startsWith('S')) {
      // The end of an extended query: the facts before a COPY in the binary format.
      socket.write(Buffer.concat([message('1'), message('2'), description(['encoding', 'enums'])]));
      socket.write(Buffer.concat([row('SQL_ASCII', '{}'), DONE, READY]));
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = new Set<Socket>();
  server.on('connection', (socket) => open.add(socket));
  teardown(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://reader@127.0.0.1:${port}/school?sslmode=disable`,
    connections: () => connections,
    attack(point, bytes) {
      attacked = { point, bytes };
    },
  };
}

/** The header of rows in the binary format of COPY. */
const BINARY_BEGIN = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');

/** The row of an event, each value as JSON. */
function binaryRow(n: number): Buffer {
  const values = [
    `2c3c9bfd-5da4-5a45-8bdb-5c0fe790241${n}`,
    '2026-09-14T08:00:00Z',
    '2026-09-14T09:00:00Z',
  ].map((value) => Buffer.from(JSON.stringify(value)));
  return Buffer.concat([int16(values.length), ...values.flatMap((value) => [int32(value.length), value])]);
}
