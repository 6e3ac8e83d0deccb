/** `lectern/client` against a real service: typed answers, entity tags, pages, problems, the stream of changes. */
import { readFileSync } from 'node:fs';
import { type Test, test } from 'tap';
import { documentDigest } from '../../scripts/document-digest.mjs';
import { openApiText } from '../../src/cli/openapi-command.js';
import { type ChangeMessage, TimetableClient, TimetableProblem } from '../../src/client/client.js';
import { readServerSentEvents } from '../../src/client/server-sent-events.js';
import { EVENTS, ROOM, serve, setUp, token } from '../http/harness.js';
import { PublishedViews } from '../http/live-views.js';

interface Sent {
  readonly request: Request;
  readonly status: number;
}

async function start(
  t: Test,
  options: { readonly token?: () => string | null; readonly answersKept?: number } = {},
) {
  const views = new PublishedViews(EVENTS);
  const { handler } = setUp({ views });
  const { port, server } = await serve(t, handler);
  const sent: Sent[] = [];
  // One token, because a token of the next second is another, and answers of another token are not given again.
  const own = token({ studyGroup: 'A' });
  const client = new TimetableClient({
    baseUrl: `http://127.0.0.1:${port}/api/v1/`,
    token: () => own,
    ...options,
    fetch: async (request) => {
      const response = await fetch(request);
      sent.push({ request, status: response.status });
      return response;
    },
  });
  return { client, views, handler, server, sent };
}

test('the types are those of the OpenAPI document', (t) => {
  const made = readFileSync(new URL('../../src/client/api.ts', import.meta.url), 'utf8');
  const digest = documentDigest(openApiText('/api/v1', 'uuid'));
  t.ok(
    made.startsWith(`// Made from the OpenAPI document ${digest}.`),
    'after a change: npm run client:types',
  );
  t.end();
});

test('an answer comes with its version, total and next page; repeated parameters are repeated', async (t) => {
  const { client, sent } = await start(t);
  const answer = await client.get('/schedule', {
    roomId: [ROOM],
    studyGroup: ['A', 'B & <C>, "D"'],
    limit: 3,
  });
  t.equal(answer.data.length, 3);
  t.equal(answer.total, EVENTS.length);
  t.match(answer.version, /^\d+\.[\w-]{22}$/);
  t.ok(answer.nextCursor);
  t.equal(new URL(sent[0]?.request.url ?? '').searchParams.getAll('studyGroup').length, 2);
  const { data } = await client.get('/schedule/types');
  t.same(data, ['Lab', 'Lecture']);
  const one = await client.get('/schedule/events/{id}', undefined, {
    path: { id: answer.data[0]?.id ?? '' },
  });
  t.equal(one.data.title, answer.data[0]?.title);
  t.match(await client.text('/schedule', { format: 'csv', limit: 1 }), /^id,time,endTime/);
});

test('an unchanged answer is not sent again, and a changed one is', async (t) => {
  const { client, views, sent } = await start(t);
  const first = await client.get('/schedule/all');
  const again = await client.get('/schedule/all');
  t.same(
    sent.map(({ status }) => status),
    [200, 304],
  );
  t.same(again.data, first.data);
  t.equal(again.total, EVENTS.length);
  views.publishEvents(EVENTS.slice(1));
  const changed = await client.get('/schedule/all');
  t.equal(changed.data.length, EVENTS.length - 1);
  t.not(changed.version, first.version);
});

test('few answers are kept, and none where none are wanted', async (t) => {
  const { client, sent } = await start(t, { answersKept: 2 });
  for (const limit of [1, 2, 3, 1]) await client.get('/schedule/all', { limit });
  t.same(
    sent.map(({ status }) => status),
    [200, 200, 200, 200],
    'the oldest has gone',
  );
  const none = await start(t, { answersKept: 0 });
  for (const limit of [1, 1]) await none.client.get('/schedule/all', { limit });
  t.same(
    none.sent.map(({ status }) => status),
    [200, 200],
  );
});

test('an answer of one token is never given to another', async (t) => {
  let user = 'A';
  const { client } = await start(t, { token: () => token({ studyGroup: user }) });
  const own = await client.get('/schedule/personal');
  user = 'B & <C>, "D"';
  const other = await client.get('/schedule/personal');
  t.ok(own.data.length > 0 && other.data.length > 0);
  t.notSame(own.data, other.data);
});

test('all pages are read one after another, also while the timetable changes', async (t) => {
  const { client, views, sent } = await start(t);
  const titles: (string | null)[] = [];
  for await (const { title } of client.entries('/schedule', { limit: 4 })) {
    titles.push(title);
    if (titles.length === 2) views.publishEvents(EVENTS.map((event) => ({ ...event, title: 'new' })));
  }
  t.equal(titles.length, EVENTS.length);
  t.equal(titles.at(-1), 'new');
  t.equal(sent.length, 3);
});

test('a problem is an error with its code and every fault', async (t) => {
  const { client } = await start(t);
  const query = { roomId: ['x'], startTime: 'soon' };
  const error = await client.get('/schedule', query).catch((reason: unknown) => reason);
  t.ok(error instanceof TimetableProblem);
  t.match(error, { status: 400, code: 'parameters-invalid' });
  t.same((error as TimetableProblem).errors.map(({ parameter }) => parameter).sort(), [
    'roomId',
    'startTime',
  ]);
  const without = await start(t, { token: () => null });
  await t.rejects(without.client.get('/schedule'), { status: 401, code: 'credentials-missing' });
  const proxy = new TimetableClient({
    baseUrl: 'http://x/',
    fetch: async () => new Response('<p>Bad gateway', { status: 502, headers: { 'Retry-After': '7' } }),
  });
  await t.rejects(proxy.get('/schedule'), { status: 502, code: 'unknown', retryAfterSeconds: 7 });
});

test('changes arrive as they are published, and after a lost connection nothing is missed', async (t) => {
  const { client, views, handler, sent } = await start(t);
  const abort = new AbortController();
  const states: string[] = [];
  const messages: ChangeMessage[] = [];
  const titled = (title: string) => EVENTS.map((event, n) => (n === 0 ? { ...event, title } : event));
  for await (const message of client.changes({
    signal: abort.signal,
    onState: (state) => states.push(state),
  })) {
    messages.push(message);
    if (messages.length === 1) views.publishEvents(titled('one'));
    // The stream ends before the next publication, which the client asks for when it comes back.
    if (messages.length === 2) {
      (handler as unknown as { endStreams: () => void }).endStreams();
      views.publishEvents(titled('two'));
    }
    if (messages.length === 3) abort.abort();
  }
  t.match(messages, [
    { kind: 'version' },
    { kind: 'changes', changed: [{ title: 'one' }] },
    { kind: 'changes', changed: [{ title: 'two' }] },
  ]);
  t.equal(sent.at(-1)?.request.headers.get('last-event-id'), messages[1]?.version);
  t.same(states.slice(0, 3), ['live', 'lost', 'live']);
});

test('a stream that waiting cannot mend ends with its problem', async (t) => {
  const { client } = await start(t, { token: () => 'nonsense' });
  await t.rejects(client.changes().next(), { status: 401, code: 'token-invalid' });
});

test('an event stream is read from pieces of any size', async (t) => {
  const text =
    ': hello\r\n\r\nid: 1\ndata: a\ndata:  b\n\nevent: x\nid\nretry: 5\ndata: é\r\n\r\ndata: unfinished';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7, 100]) {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const found = await collect(readServerSentEvents(stream));
    t.same(
      found,
      [
        { type: 'message', id: '1', data: 'a\n b' },
        { type: 'x', id: '', data: 'é' },
      ],
      `pieces of ${size}`,
    );
  }
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
