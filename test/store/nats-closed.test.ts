/** Stores in NATS whose server stops, hangs or loses data. Inside, because only a store shows its sockets. */
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { openStore } from '../../src/store/open-store.js';
import { testFolder } from '../base/files/test-folder.js';
import { timeForAFault, until } from '../waiting/until.js';
import { NATS_MISSING, type NatsServer, startNats } from './nats-server.js';

const options = { skip: NATS_MISSING };

async function serverOf(t: Test): Promise<NatsServer> {
  const server = await startNats(join(testFolder(t), 'nats'));
  t.teardown(() => server.stop());
  return server;
}

/** Takes connections, and says nothing. */
async function silentServer(t: Test, port = 0): Promise<{ readonly port: number; connections(): number }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as { port: number }).port, connections: () => sockets.length };
}

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
}

async function untilSockets(count: number): Promise<number> {
  await until(openSockets, (seen) => seen <= count);
  return openSockets();
}

const unavailable = { code: 'store-unavailable' };

test('a closed store makes no connection', async (t) => {
  const server = await silentServer(t);
  const store = await openStore(`nats://127.0.0.1:${server.port}/timetable`, 'make');
  await store.close();
  await store.close();
  await t.rejects(store.read('head'), { ...unavailable, message: /it is closed/ });
  await t.rejects(store.swap('head', '', null), unavailable);
  await t.rejects(store.get('image'), unavailable);
  await t.rejects(store.list(), unavailable);
  store.watch(['head'], () => {});
  await timeForAFault(200);
  t.equal(server.connections(), 0);
});

test('closing a store ends the calls that wait for its server', async (t) => {
  const server = await silentServer(t);
  const store = openStore(`nats://127.0.0.1:${server.port}/timetable`, 'make');
  const reading = store.read('head').catch((error: Error) => error);
  while (server.connections() === 0) await delay(10);
  await store.close();
  t.match(await reading, { ...unavailable, message: /it is closed/ });
});

test('a store that is closed while it connects keeps no socket', async (t) => {
  const server = await silentServer(t);
  const store = await openStore(`nats://127.0.0.1:${server.port}/timetable`, 'make');
  const reading = store.read('head').catch((error: unknown) => error);
  await until(
    () => server.connections(),
    (seen) => seen > 0,
  );
  // The end of the connection that this process accepted.
  const accepted = 1;
  await store.close();
  t.match(await reading, unavailable);
  t.ok((await untilSockets(accepted)) <= accepted);
});

test('a server that answers too late gets no connection', options, async (t) => {
  const server = await serverOf(t);
  const before = openSockets();
  const store = await openStore(server.address(), 'make');
  server.signal('SIGSTOP');
  await t.rejects(store.read('head'), unavailable);
  t.equal(await untilSockets(before), before, 'the socket is not kept');
  server.signal('SIGCONT');
  await timeForAFault(500);
  t.equal(openSockets(), before);
  t.equal(await store.read('head'), null, 'the store connects again when it is used again');
  await store.close();
  t.equal(await untilSockets(before), before);
});

test('a store that is closed while it reconnects keeps no socket', options, async (t) => {
  const server = await serverOf(t);
  const before = openSockets();
  const store = await openStore(server.address(), 'make');
  t.equal(await store.read('head'), null);
  await server.stop();
  const silent = await silentServer(t, server.port);
  await until(
    () => silent.connections(),
    (seen) => seen > 0,
  );
  const accepted = openSockets() - before - silent.connections();
  t.ok(accepted >= 1, 'it is connected');
  await store.close();
  t.ok((await untilSockets(before + silent.connections())) <= before + silent.connections());
});

test(
  'a watch works in a bucket that is created later, and in one that is created again',
  options,
  async (t) => {
    const server = await serverOf(t);
    const [store, other] = [
      await openStore(server.address(), 'make'),
      await openStore(server.address(), 'make'),
    ];
    t.teardown(() => Promise.all([store.close(), other.close()]));
    let told = 0;
    store.watch(['head'], () => told++);
    const isTold = async (): Promise<boolean> => {
      const before = told;
      for (let n = 0; n < 200; n++) {
        const head = await other.read('head').catch(() => null);
        await other.swap('head', `${n}`, head?.revision ?? null);
        // This change or the next one is reported within this time.
        await delay(100);
        if (told > before) return true;
      }
      return false;
    };
    t.ok(await isTold(), 'a bucket that did not exist');
    const { jetstreamManager } = await import('@nats-io/jetstream');
    const { connect } = await import('@nats-io/transport-node');
    const connection = await connect({ servers: `127.0.0.1:${server.port}` });
    t.teardown(() => connection.close());
    await (await jetstreamManager(connection)).streams.delete('KV_timetable');
    t.ok(await isTold(), 'a bucket that was created again');
    await server.stop();
    await server.start();
    t.ok(await isTold(), 'a server that was restarted');
  },
);

test('a bucket is created again if the server cannot read what it stores', options, async (t) => {
  const server = await serverOf(t);
  async function* bytes(text: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
  }
  const before = await openStore(server.address(), 'make');
  await before.put('first', bytes('one'));
  await before.put('second', bytes('two'));
  await before.close();
  await server.stop();
  // One byte in the description of the second object.
  const folder = join(server.folder, 'jetstream', '$G', 'streams', 'OBJ_timetable', 'msgs');
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.blk'))) {
    const content = readFileSync(join(folder, name));
    const at = content.indexOf('"name":"second"');
    if (at >= 0) content[at + 3] = 0;
    writeFileSync(join(folder, name), content);
  }
  await server.start();
  const store = await openStore(server.address(), 'make');
  t.teardown(() => store.close());
  t.equal(await store.bytesOf('second'), null);
  t.ok((await store.list()).length < 2, 'it lists what the server can read');
  // Depending on its version the server can read the next object, or none in this file.
  await store.put('third', bytes('three')).catch((error: unknown) => t.match(error, unavailable));
  await store.put('third', bytes('three'));
  t.equal(await store.bytesOf('third'), 5);
  t.ok((await store.list()).some(({ name }) => name === 'third'));
});

test('a bucket is created again if the server lost its folder', options, async (t) => {
  const server = await serverOf(t);
  const store = await openStore(server.address(), 'make');
  t.teardown(() => store.close());
  async function* bytes(count: number): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < count; n++) yield Buffer.alloc(1024 * 1024, n);
  }
  await store.put('first', bytes(1));
  rmSync(join(server.folder, 'jetstream', '$G', 'streams', 'OBJ_timetable'), { recursive: true });
  // The server notices when it begins its next file.
  await t.rejects(store.put('second', bytes(100)), { ...unavailable, message: /bucket was lost/ });
  await store.put('second', bytes(1));
  t.strictSame(await store.list(), [{ name: 'second', bytes: 1024 * 1024 }]);
});

test(
  'a bucket of records is created again if the server lost its folder and cannot read what it stores',
  options,
  async (t) => {
    const server = await serverOf(t);
    const store = await openStore(server.address(), 'make');
    t.teardown(() => store.close());
    await store.swap('first', 'one', null);
    rmSync(join(server.folder, 'jetstream', '$G', 'streams', 'KV_timetable'), { recursive: true });
    const writeUntilItIsRead = async (): Promise<number> => {
      for (let attempt = 1; attempt < 20; attempt++) {
        await store
          .swap('second', `attempt ${attempt}`, null)
          .catch((error: unknown) => t.match(error, unavailable));
        if ((await store.read('second')) !== null) return attempt;
      }
      return Number.POSITIVE_INFINITY;
    };
    t.ok((await writeUntilItIsRead()) <= 2);
  },
);
