/** What a person sees who tries the service out. */
import { test } from 'tap';
import { get } from '../workers/threads.js';
import { start } from './lectern.js';

test('in development, too, requests are logged when they are asked for', async (t) => {
  const running = start(['serve', 'fixtures/demo.ndjson.gz', '--dev', '--port', '0', '--access-log', '1']);
  const origin = /at (http:\/\/[^/]+)/.exec(await running.printed('Another token'))?.[1] ?? '';
  t.equal((await get(`${origin}/health`)).status, 200);
  running.child.kill('SIGTERM');
  t.match((await running.ended).stderr, /"method":"GET","route":"\/health","status":200/);
});
