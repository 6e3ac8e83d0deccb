/** A service whose database misbehaves answers reads, continues to load, and ends at a signal. */
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { int32, message, startFalseServer } from '../source/postgres/false-server.js';
import { start } from './lectern.js';

interface Health {
  readonly status: string;
  readonly snapshot: { readonly events: number };
  readonly source: { readonly lastError: string | null };
}

test('a false database stops neither reads, nor later loads, nor the end of the service', async (t) => {
  const server = await startFalseServer((end) => t.teardown(end));
  const argv = ['serve', server.url, '--table', 'events', '--refresh-seconds', '0.1', '--dev', '--port', '0'];
  const running = start(argv);
  t.teardown(() => running.child.kill('SIGKILL'));
  const origin = /at (http:\/\/[^/]+)/.exec(await running.printed('A new token'))?.[1] ?? '';
  const health = async (): Promise<Health> => {
    const answer = await fetch(`${origin}/health`);
    if (answer.status !== 200) t.fail(`/health answered ${answer.status}`);
    return (await answer.json()) as Health;
  };
  /** Requests /health until the state holds. Each answer shows that the serving thread is free. */
  const becomes = async (holds: (state: Health) => boolean): Promise<Health> => {
    for (;;) {
      const state = await health();
      if (holds(state)) return state;
      await delay(20);
    }
  };

  // A notice without a NUL once kept pg's parser in an endless loop.
  server.attack('statement', (socket) => socket.write(message('N', 'Mtext')));
  const before = server.connections();
  await becomes(() => server.connections() > before + 2);
  t.equal((await health()).source.lastError, null, 'a notice is dropped, and loads go on');

  server.attack('statement', (socket) => socket.write(message('D', int32(-9))));
  await becomes(({ source }) => /malformed message DataRow/.test(source.lastError ?? ''));
  t.equal((await health()).snapshot.events, 2, 'the last good timetable stays');
  server.attack('login', (socket) => socket.write(message('N', 'Mtext')));
  await becomes(({ source }) => source.lastError === null);

  // The load waits for the end of an endless message when the signal comes.
  let isWaiting = (): void => {};
  const waiting = new Promise<void>((resolve) => {
    isWaiting = resolve;
  });
  server.attack('statement', (socket) => {
    socket.write(Buffer.concat([Buffer.from('N'), int32(1_000_000), Buffer.alloc(100, 0x20)]));
    isWaiting();
  });
  await waiting;
  await health();
  running.child.kill('SIGTERM');
  t.match(await running.ended, { code: 0, signal: null });
});
