/** The admin listener: its reports, its token, and its refusals. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import { SECRET } from '../auth/tokens.js';
import { MemorySource, openTimetable, startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';
import { get, keptLog, makeThrow, watchThreads } from './threads.js';

const TOKEN = 'an-admin-token-of-good-length';
const RECORDS = Array.from({ length: 10 }, (_, n) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T09:00:00Z',
}));
const OPTIONS = { port: 0, adminPort: 0, hs256Secret: SECRET, watch: false } as const;

function tokenFile(t: { testdir(files: Record<string, string>): string }, text = `${TOKEN}\n`): string {
  return join(t.testdir({ token: text }), 'token');
}

interface Reply {
  readonly status: number;
  readonly type: string | undefined;
  readonly json: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, string | string[] | undefined>>;
}

function ask(url: string, method = 'GET', headers: Record<string, string> = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers, agent: false }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      res.on('end', () => {
        const json = (text === '' ? {} : JSON.parse(text)) as Reply['json'];
        const { statusCode: status = 0, headers: fields } = res;
        resolve({ status, type: fields['content-type'], json, fields });
      });
    });
    req.on('error', reject);
    req.end();
  });
}

const bearer = { authorization: `Bearer ${TOKEN}` };

test('/ready is 503 without a snapshot, with a stale one and while draining, otherwise 200', async (t) => {
  let finish = (): void => {};
  const mayLoad = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let end = (): void => {};
  const mayEnd = new Promise<void>((resolve) => {
    end = resolve;
  });
  let fails = false;
  const source = {
    name: 'slow',
    // The load ends when the test allows it.
    watch: () => ({ close: () => mayEnd }),
    async load() {
      await mayLoad;
      if (fails) throw new Error('away');
      return { records: RECORDS, version: null };
    },
  };
  const service = await startService({ ...OPTIONS, source, watch: true, staleSecondsMax: 0.2 });
  t.teardown(() => {
    end();
    return service.close();
  });
  const admin = service.adminAddress?.origin ?? '';
  const state = async (): Promise<unknown[]> => {
    const { status, json } = await ask(`${admin}/ready`);
    return [status, ...(json.reasons as string[])];
  };
  t.strictSame(await state(), [503, 'no-snapshot']);
  t.equal((await ask(`${admin}/live`)).status, 200);
  finish();
  await service.ready;
  t.strictSame(await state(), [200]);
  fails = true;
  await service.timetable.refresh();
  await until(() => service.timetable.view === null);
  t.strictSame(await state(), [503, 'snapshot-stale']);
  t.equal((await ask(`${admin}/live`)).status, 200);
  fails = false;
  await service.timetable.refresh();
  t.strictSame(await state(), [200]);

  const closing = service.close();
  t.strictSame(await state(), [503, 'draining'], 'while it is being closed');
  t.equal((await ask(`${admin}/live`)).status, 200);
  end();
  await closing;
  await t.rejects(ask(`${admin}/live`), { code: 'ECONNREFUSED' }, 'the admin listener is closed last');
});

test('/ready reports no-thread when no thread can answer', async (t) => {
  const threads = watchThreads(t);
  const { log } = keptLog();
  const service = await startService({ ...OPTIONS, source: new MemorySource(RECORDS), workers: 2 }, { log });
  t.teardown(() => service.close());
  await service.ready;
  const admin = service.adminAddress?.origin ?? '';
  t.equal((await ask(`${admin}/ready`)).status, 200);
  const serving = threads.slice(0, 2);
  for (const thread of serving) makeThrow(thread);
  const seen = new Set<string>();
  while (!seen.has('ready again')) {
    const { status, json } = await ask(`${admin}/ready`);
    if (status === 503) seen.add(String(json.reasons));
    else if (seen.size > 0) seen.add('ready again');
  }
  t.strictSame([...seen], ['no-thread', 'ready again']);
});

test('/ready reports no-keys until there is a usable key', async (t) => {
  let hasKeys = false;
  const { publicKey } = generateKeyPairSync('ed25519');
  const issuer = createServer((_req, res) => {
    res.statusCode = hasKeys ? 200 : 500;
    res.end(JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }));
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  t.teardown(() => issuer.close());
  const jwks = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks`;
  const times = { jwksRefreshSeconds: 1 };
  const reasons = async (origin = ''): Promise<unknown> => (await ask(`${origin}/ready`)).json.reasons;
  const timetable = openTimetable({ source: RECORDS });
  const server = await timetable.serve({ auth: { jwks, ...times }, port: 0, admin: { port: 0 } });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const origins = [server.adminAddress?.origin];
  for (const workers of [1, 2]) {
    const options = {
      source: new MemorySource(RECORDS),
      port: 0,
      adminPort: 0,
      watch: false,
      workers,
      ...times,
    };
    const service = await startService({ ...options, jwks });
    const withSecret = await startService({ ...options, jwks, hs256Secret: SECRET });
    const development = await startService({ ...options, jwks, dev: true });
    const others = [withSecret, development];
    t.teardown(() => Promise.all([service, ...others].map((each) => each.close())));
    await Promise.all([service, ...others].map((each) => each.ready));
    origins.push(service.adminAddress?.origin);
    for (const { adminAddress } of others) {
      t.strictSame(await reasons(adminAddress?.origin), [], 'another key serves');
    }
  }
  for (const origin of origins) t.strictSame(await reasons(origin), ['no-keys']);
  hasKeys = true;
  const allSay = async (expected: string): Promise<void> => {
    await until(
      () => Promise.all(origins.map(reasons)),
      (seen) => seen.every((found) => String(found) === expected),
    );
  };
  await allSay('');
});

test('a repeated refusal is reported again', async (t) => {
  const source = {
    name: 'shrunk',
    version: 1,
    load({ previous }: { previous: string | null }) {
      const version = String(this.version);
      if (previous === version) return { notModified: true as const };
      return { records: RECORDS.slice(0, this.version === 1 ? 10 : 2), version };
    },
  };
  const service = await startService({ ...OPTIONS, source, adminTokenFile: tokenFile(t) });
  t.teardown(() => service.close());
  await service.ready;
  source.version = 2;
  for (let n = 0; n < 3; n++) {
    const { json } = await ask(`${service.adminAddress?.origin}/refresh`, 'POST', bearer);
    t.match(json, { outcome: 'refused', events: 10, reason: /80\.0 % fewer/ });
  }
  source.version = 1;
  const { json } = await ask(`${service.adminAddress?.origin}/refresh`, 'POST', bearer);
  t.match(json, { outcome: 'unchanged', reason: null });
});

test('the answer of POST /refresh has the outcome', async (t) => {
  const { log, lines } = keptLog();
  const source = new MemorySource(RECORDS);
  const options = { ...OPTIONS, source, adminTokenFile: tokenFile(t) };
  const service = await startService(options, { log });
  t.teardown(() => service.close());
  await service.ready;
  const admin = service.adminAddress?.origin ?? '';
  const refresh = async (query = ''): Promise<Reply> => ask(`${admin}/refresh${query}`, 'POST', bearer);
  const id = service.timetable.summary?.id;
  t.strictSame((await refresh()).json, { outcome: 'unchanged', snapshot: id, events: 10, reason: null });
  source.replace(RECORDS.slice(0, 2));
  const refused = await refresh();
  t.match(refused, { status: 200, type: 'application/json; charset=utf-8' });
  t.match(refused.json, { outcome: 'refused', snapshot: id, events: 10, reason: /80\.0 % fewer/ });
  t.match((await refresh('?force=true')).json, { outcome: 'published', events: 2, reason: null });
  source.replace(RECORDS);
  t.match((await refresh()).json, { outcome: 'published', snapshot: id, events: 10 });
  t.equal(lines.filter(({ message }) => message === 'loading on request').length, 4);
  for (const query of ['?force=yes', '?force=true&force=true', '?x=1', '?force=%']) {
    t.match(await refresh(query), { status: 400, json: { code: 'parameters-invalid' } }, query);
  }
});

test('consecutive requests for loads each get the outcome of their own load', async (t) => {
  const loads: (readonly object[])[] = [RECORDS, RECORDS.slice(0, 2), RECORDS, RECORDS.slice(0, 9)];
  const source = {
    name: 'changing',
    async load() {
      const records = loads.shift();
      if (records === undefined) throw new Error('away');
      return { records, version: null };
    },
  };
  const service = await startService({ ...OPTIONS, source, adminTokenFile: tokenFile(t) });
  t.teardown(() => service.close());
  await service.ready;
  const url = `${service.adminAddress?.origin}/refresh`;
  // The second load waits for the first, and has another outcome.
  const first = service.timetable.refresh();
  const second = ask(url, 'POST', bearer);
  t.match(await first, { result: 'refused', reason: /80\.0 % fewer/ });
  t.match((await second).json, { outcome: 'unchanged', reason: null });
  t.match((await ask(url, 'POST', bearer)).json, { outcome: 'published', events: 9, reason: null });
  t.match((await ask(url, 'POST', bearer)).json, { outcome: 'failed', events: 9, reason: /away/ });
});

test('without the token nothing is loaded', async (t) => {
  const { log, lines } = keptLog();
  const source = new MemorySource(RECORDS);
  const options = { ...OPTIONS, source, adminTokenFile: tokenFile(t) };
  const service = await startService(options, { log });
  t.teardown(() => service.close());
  await service.ready;
  const url = `${service.adminAddress?.origin}/refresh?force=true`;
  const refused: [Record<string, string>, number, string][] = [
    [{}, 401, 'credentials-missing'],
    [{ authorization: `Basic ${TOKEN}` }, 401, 'credentials-missing'],
    [{ authorization: `Bearer ${TOKEN}x` }, 401, 'token-invalid'],
    [{ authorization: `Bearer ${TOKEN.slice(1)}` }, 401, 'token-invalid'],
    [{ authorization: 'Bearer ' }, 401, 'credentials-missing'],
    [{ authorization: `Bearer ${TOKEN} ${TOKEN}` }, 400, 'invalid-request'],
  ];
  for (const [headers, status, code] of refused) {
    const reply = await ask(url, 'POST', headers);
    if (headers.authorization === 'Bearer ') continue;
    t.match(reply, { status, type: 'application/problem+json', json: { code } }, JSON.stringify(headers));
    t.match(reply.fields['www-authenticate'], /^Bearer realm="lectern admin"/);
  }
  t.notOk(lines.some(({ message }) => message === 'loading on request'));
  t.notMatch(JSON.stringify(lines), TOKEN);

  const without = await startService({ ...OPTIONS, source: new MemorySource(RECORDS) });
  t.teardown(() => without.close());
  const absent = await ask(`${without.adminAddress?.origin}/refresh`, 'POST', bearer);
  t.match(
    absent,
    { status: 404, json: { code: 'not-found' } },
    'without a token file there is no such resource',
  );
});

test('a short or malformed token is refused at the start and is not repeated', async (t) => {
  for (const text of ['Sh0rt!', `${'ü'.repeat(30)}`, `two words ${'x'.repeat(30)}`, '']) {
    const adminTokenFile = tokenFile(t, text);
    const failure = await startService({
      ...OPTIONS,
      source: new MemorySource(RECORDS),
      adminTokenFile,
    }).then(
      () => null,
      (error: Error & { code: string }) => error,
    );
    t.equal(failure?.code, 'key-invalid', text);
    if (text !== '') t.notMatch(failure?.message, text);
  }
});

test('other paths, other methods and malformed requests get problem documents', async (t) => {
  const adminTokenFile = tokenFile(t);
  const service = await startService({ ...OPTIONS, source: new MemorySource(RECORDS), adminTokenFile });
  t.teardown(() => service.close());
  const { origin = '', port = 0 } = service.adminAddress ?? {};
  const problem = 'application/problem+json';
  t.match(await ask(`${origin}/`), { status: 404, type: problem, json: { code: 'not-found' } });
  t.match(await ask(`${origin}/api/v1/schedule`), { status: 404, type: problem });
  const wrong = await ask(`${origin}/metrics`, 'POST');
  t.match(wrong, { status: 405, type: problem, fields: { allow: 'GET, HEAD' } });
  t.match(await ask(`${origin}/refresh`), { status: 405, type: problem, fields: { allow: 'POST' } });
  for (const query of ['overload', 'overload=1', 'overload=true&overload=true', 'force=true'])
    t.match(
      await ask(`${origin}/ready?${query}`),
      { status: 400, json: { code: 'parameters-invalid' } },
      query,
    );
  const head = await ask(`${origin}/ready`, 'HEAD');
  t.match(head.fields, { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });

  const raw = (bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(port, '127.0.0.1');
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
      socket.write(bytes);
    });
  t.match(await raw('nonsense\r\n\r\n'), /^HTTP\/1.1 400 /);
  t.match(
    await raw(`GET /live HTTP/1.1\r\nHost: localhost\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`),
    /^HTTP\/1.1 431 /,
  );
  t.match(
    await raw(`GET /live HTTP/1.1\r\nHost: localhost\r\n${'A: b\r\n'.repeat(200)}\r\n`),
    /^HTTP\/1.1 431 /,
  );
  t.match(
    await raw('GET /live HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx'),
    /^HTTP\/1.1 400 /,
  );
  t.match(
    await raw(`GET /${'x'.repeat(9000)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    /^HTTP\/1.1 414 /,
  );
  // Two credentials are refused on every path, even if they are equal.
  const twice = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
  for (const line of ['POST /refresh', 'GET /live', 'GET /nowhere', 'PUT /live']) {
    const reply = await raw(`${line} HTTP/1.1\r\n${twice}`);
    t.match(reply, /^HTTP\/1.1 400 [\s\S]*\r\nConnection: close\r\n/, line);
    t.match(reply, /WWW-Authenticate: Bearer realm="lectern admin"[\s\S]*"code":"invalid-request"/, line);
  }
  // A malformed request is always the last on its connection, even if it is also too long.
  const long = `/${'x'.repeat(9000)}`;
  t.match(await raw(`GET ${long} HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n`), /^HTTP\/1.1 400 /);
  t.match(await raw(`TRACE ${long} HTTP/1.1\r\nHost: localhost\r\n\r\n`), /^HTTP\/1.1 405 /);
  const field = `Authorization: Bearer ${TOKEN}\r\n`;
  t.match(await raw(`POST /refresh HTTP/1.1\r\nHost: localhost\r\n${field}${field}\r\n`), /^HTTP\/1.1 400 /);
  // A body is not read: the connection ends, so that the body does not count as a second request.
  const post = `POST /refresh HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
  const answer = await raw(
    `${post}Content-Length: 40\r\n\r\nGET /live HTTP/1.1\r\nHost: localhost\r\n\r\n          `,
  );
  t.match(answer, /^HTTP\/1.1 413 Payload Too Large\r\n[\s\S]*\r\nConnection: close\r\n/);
  t.match(answer, /"code":"content-too-large"/);
  t.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1);
  t.match(await raw(`${post}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`), /^HTTP\/1.1 413 /);
  t.match(
    await raw(`${post}Content-Length: 0\r\nConnection: close\r\n\r\n`),
    /^HTTP\/1.1 200 /,
    'as curl -d "" sends it',
  );
});

test('a taken port fails the start and leaves nothing behind', async (t) => {
  const first = await startService({ ...OPTIONS, source: new MemorySource(RECORDS) });
  t.teardown(() => first.close());
  const adminPort = first.adminAddress?.port ?? 0;
  await t.rejects(startService({ ...OPTIONS, adminPort, source: new MemorySource(RECORDS) }), {
    code: 'address-unavailable',
  });
  t.equal((await ask(`${first.adminAddress?.origin}/live`)).status, 200);
});

test('a server of the library may have an admin listener', async (t) => {
  const timetable = openTimetable({ source: RECORDS });
  t.teardown(() => timetable.close());
  const auth = { hs256Secret: SECRET };
  const server = await timetable.serve({
    auth,
    port: 0,
    admin: { port: 0, tokenFile: tokenFile(t) },
    accessLog: 0,
  });
  await timetable.ready;
  const admin = server.adminAddress?.origin ?? '';
  t.equal((await ask(`${admin}/ready`)).status, 200);
  t.match((await ask(`${admin}/refresh`, 'POST', bearer)).json, { outcome: 'unchanged', events: 10 });
  t.match((await get(`${admin}/metrics`)).body.toString(), '\nlectern_snapshot_events 10\n');
  await server.close();
  await t.rejects(ask(`${admin}/live`), { code: 'ECONNREFUSED' });
  const invalid = { code: 'option-invalid' };
  await t.rejects(timetable.serve({ auth, port: 0, admin: { port: 70_000 } }), invalid);
  await t.rejects(timetable.serve({ auth, port: 0, corsOrigins: ['*'] }), invalid);
  await t.rejects(timetable.serve({ auth, port: 0, accessLog: 2 }), invalid);
});
