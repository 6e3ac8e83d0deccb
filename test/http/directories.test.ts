/** GET /schedule/rooms and the other directories, and GET /schedule/events/{id}, as clients see them. */
import { decode } from '@msgpack/msgpack';
import { test } from 'tap';
import { PROBLEMS } from '../../src/base/errors.js';
import { ROUTE_MEMO_ENTRIES_MAX } from '../../src/base/limits.js';
import { createRouter, lastSegmentOf, scheduleRoutes } from '../../src/http/routes.js';
import { viewOfEvents } from '../answer/reading.js';
import { eventOf } from '../snapshot/images.js';
import { bearer, EVENTS, ROOM, serve, setUp, viewsOf } from './harness.js';

const GOOD = bearer({ studyGroup: 'A' });
const SCHEDULE = '/api/v1/schedule';
const ROOMS = [{ id: ROOM, name: null, events: 11 }];
const GROUPS = [
  { id: null, name: 'A', events: 6 },
  { id: null, name: 'B & <C>, "D"', events: 5 },
];

const ANSWERS: readonly (readonly [target: string, expected: unknown])[] = [
  ['/rooms', ROOMS],
  ['/rooms/', ROOMS],
  ['/courses', []],
  ['/groups', GROUPS],
  ['/lecturers', [{ id: null, name: 'Zoë Übermut', events: 11 }]],
  ['/lecturers?q=ubermut', [{ id: null, name: 'Zoë Übermut', events: 11 }]],
  ['/lecturers?q=ZOE%20U', [{ id: null, name: 'Zoë Übermut', events: 11 }]],
  ['/lecturers?q=zoe+u', [{ id: null, name: 'Zoë Übermut', events: 11 }]],
  ['/lecturers?q=x', []],
  [
    '/groups?type=Lab',
    [
      { ...GROUPS[0], events: 2 },
      { ...GROUPS[1], events: 2 },
    ],
  ],
  ['/groups?studyGroup=A', [GROUPS[0]]],
  ['/groups?startTime=2024-09-02T08:00:00Z&endTime=2024-09-02T09:00:00Z', [{ ...GROUPS[0], events: 1 }]],
  ['/groups?limit=1', [GROUPS[0]]],
];

test('directories honour filters, window, search and page', async (t) => {
  const { send } = await serve(t, setUp().handler);
  for (const [target, expected] of ANSWERS) {
    const reply = await send(SCHEDULE + target, { headers: GOOD });
    t.equal(reply.status, 200, target);
    t.same(reply.json(), expected, target);
    const packed = await send(SCHEDULE + target, { headers: { ...GOOD, Accept: 'application/msgpack' } });
    t.same(decode(packed.body), expected, `${target} as MessagePack`);
  }
});

test('a rooms file adds building and capacity to rooms, and names of groups their studyGroup', async (t) => {
  const other = 'ffffffff-5da4-5a45-8bdb-5c0fe7902417';
  const events = [
    ...EVENTS,
    eventOf(99, { roomId: other, studyGroup: 'INF-2', groupId: other, groupName: 'Informatics' }),
  ];
  const views = viewsOf();
  const show = (capacity: number): void => {
    const rooms = [{ id: ROOM, name: 'Hall', building: 'Old "A"', capacity }];
    const table = { rooms, digest: `${capacity}` };
    views.view = viewOfEvents(events, 'uuid', table);
  };
  show(120);
  const { send } = await serve(t, setUp({ views }).handler);
  const ask = async (path: string): Promise<object[]> => {
    const reply = await send(SCHEDULE + path, { headers: GOOD });
    const packed = await send(SCHEDULE + path, { headers: { ...GOOD, Accept: 'application/msgpack' } });
    t.same(decode(packed.body), reply.json(), `${path} as MessagePack`);
    return reply.json() as object[];
  };
  const [known, unknown] = [
    { building: 'Old "A"', capacity: 120 },
    { building: null, capacity: null },
  ];
  t.same(await ask('/rooms'), [
    { id: ROOM, name: null, events: 11, ...known },
    { id: other, name: null, events: 1, ...unknown },
  ]);
  t.same(await ask('/rooms?q=nothing'), []);
  t.match(await ask('/free?by=room&date=2001-01-01'), [
    { id: ROOM, name: 'Hall', ...known },
    { id: other, ...unknown },
  ]);
  t.same(await ask('/groups'), [
    { id: null, name: 'A', events: 6, studyGroup: 'A' },
    { id: null, name: 'B & <C>, "D"', events: 5, studyGroup: 'B & <C>, "D"' },
    { id: other, name: 'Informatics', events: 1, studyGroup: 'INF-2' },
  ]);
  for (const entry of await ask('/free?by=group&date=2001-01-01')) t.notOk('building' in entry);
  const { etag } = (await send(`${SCHEDULE}/rooms`, { headers: GOOD })).headers;
  show(121);
  const again = await send(`${SCHEDULE}/rooms`, { headers: { ...GOOD, 'If-None-Match': String(etag) } });
  t.equal(again.status, 200, 'other rooms have another tag');
});

test('directory pages are linked, and counts cover all pages', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const first = await send(`${SCHEDULE}/groups?limit=1`, { headers: GOOD });
  t.equal(first.headers['x-total-count'], '2');
  const next = /^<([^>]+)>; rel="next"$/.exec(String(first.headers.link))?.[1] ?? '';
  t.match(next, `${SCHEDULE}/groups?limit=1&cursor=`);
  const second = await send(next, { headers: GOOD });
  t.same(second.json(), [GROUPS[1]]);
  t.equal(second.headers['x-total-count'], '2');
  t.equal(second.headers.link, undefined);
});

const FAULTS: readonly (readonly [target: string, faults: object[]])[] = [
  ['/rooms?rom=1', [{ parameter: 'rom', code: 'unknown-parameter' }]],
  ['/rooms?search=x', [{ parameter: 'search', code: 'unknown-parameter' }]],
  ['/rooms?by=room', [{ parameter: 'by', code: 'unknown-parameter' }]],
  ['/rooms?q=', [{ parameter: 'q', code: 'empty-value' }]],
  ['/rooms?q=%CC%81', [{ parameter: 'q', code: 'empty-value' }]],
  ['/rooms?q=a&q=b', [{ parameter: 'q', code: 'repeated-parameter' }]],
  ['/rooms?q=%FF', [{ parameter: 'q', code: 'malformed-encoding' }]],
  [
    '/rooms?cursor=x&limit=0',
    [
      { parameter: 'limit', code: 'malformed-limit' },
      { parameter: 'cursor', code: 'malformed-cursor' },
    ],
  ],
  ['/rooms?roomId=1', [{ parameter: 'roomId', code: 'malformed-identifier' }]],
  [`/events/${EVENTS[0]?.id}?x=1`, [{ parameter: 'x', code: 'unknown-parameter' }]],
  [`/events/${EVENTS[0]?.id}?limit=1`, [{ parameter: 'limit', code: 'unknown-parameter' }]],
  [`/events/unknown?x=1`, [{ parameter: 'x', code: 'unknown-parameter' }]],
];

test('faults of parameters are listed', async (t) => {
  const { send } = await serve(t, setUp().handler);
  for (const [target, errors] of FAULTS) {
    const reply = await send(SCHEDULE + target, { headers: GOOD });
    t.equal(reply.status, 400, target);
    t.match(reply.json(), { code: 'parameters-invalid', errors }, target);
  }
  const lenient = await serve(t, setUp({ unknownParameters: 'ignore' }).handler);
  t.equal((await lenient.send(`${SCHEDULE}/rooms?search=x`, { headers: GOOD })).status, 200);
});

const FIRST = `${SCHEDULE}/events/${EVENTS[0]?.id}`;

test('a single event equals its entry in the list, in both formats, with HEAD and 304', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const list = (await send(SCHEDULE, { headers: GOOD })).json() as { id: string }[];
  for (const event of list) {
    for (const path of [`${SCHEDULE}/events/${event.id}`, `${SCHEDULE}/events/${event.id.toUpperCase()}/`]) {
      // Three times: the third answer comes from the cache.
      for (let n = 0; n < 3; n++) {
        const reply = await send(path, { headers: GOOD });
        t.equal(reply.status, 200, path);
        t.same(reply.json(), event);
        t.match(reply.headers, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': String(reply.body.length),
          'cache-control': 'private, no-cache',
          vary: 'Accept, Accept-Encoding, Authorization',
          'x-total-count': undefined,
        });
      }
      const packed = await send(`${path}?format=msgpack`, { headers: GOOD });
      t.same(decode(packed.body), event);
      t.equal(packed.headers['content-type'], 'application/vnd.msgpack');
    }
  }
  const get = await send(FIRST, { headers: GOOD });
  const head = await send(FIRST, { method: 'HEAD', headers: GOOD });
  t.equal(head.body.length, 0);
  t.equal(head.headers['content-length'], get.headers['content-length']);
  const { etag } = get.headers;
  t.match(etag, /^W\//);
  for (const method of ['GET', 'HEAD']) {
    const known = await send(FIRST, { method, headers: { ...GOOD, 'If-None-Match': etag as string } });
    t.equal(known.status, 304);
  }
  const other = await send(`${SCHEDULE}/events/${EVENTS[1]?.id}`, { headers: GOOD });
  t.not(other.headers.etag, etag);
  const replica = await serve(t, setUp().handler);
  t.equal((await replica.send(FIRST, { headers: GOOD })).headers.etag, etag);
});

test('a single event is checked in the documented order', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const unknown = `${SCHEDULE}/events/${'0'.repeat(8)}-0000-4000-8000-999999999999`;
  const cases: readonly (readonly [
    method: string,
    path: string,
    headers: Record<string, string>,
    keyof typeof PROBLEMS,
  ])[] = [
    ['GET', unknown, GOOD, 'event-not-found'],
    ['HEAD', unknown, GOOD, 'event-not-found'],
    ['GET', `${unknown}/`, GOOD, 'event-not-found'],
    ['GET', `${SCHEDULE}/events/not-a-uuid`, GOOD, 'event-not-found'],
    ['GET', `${SCHEDULE}/events/%C3%A9`, GOOD, 'event-not-found'],
    ['GET', `${SCHEDULE}/events/${'x'.repeat(1024)}`, GOOD, 'event-not-found'],
    ['GET', unknown, { ...GOOD, 'If-None-Match': '*' }, 'event-not-found'],
    ['GET', unknown, {}, 'credentials-missing'],
    ['DELETE', FIRST, GOOD, 'method-not-allowed'],
    ['GET', unknown, { ...GOOD, Accept: 'text/html' }, 'not-acceptable'],
    ['GET', `${unknown}?x=1`, GOOD, 'parameters-invalid'],
    ['GET', FIRST, { ...GOOD, 'If-Match': '"x"' }, 'precondition-failed'],
    ['GET', `${SCHEDULE}/events`, GOOD, 'not-found'],
    ['GET', `${SCHEDULE}/events/`, GOOD, 'not-found'],
    ['GET', `${FIRST}/title`, GOOD, 'not-found'],
    ['GET', `${SCHEDULE}/events/%`, GOOD, 'not-found'],
    ['GET', `${SCHEDULE}/events/%FF`, GOOD, 'not-found'],
    ['GET', `${SCHEDULE}/Events/${EVENTS[0]?.id}`, GOOD, 'not-found'],
  ];
  for (const [method, path, headers, code] of cases) {
    const reply = await send(path, { method, headers });
    t.equal(reply.status, PROBLEMS[code].status, `${method} ${path} ${code}`);
    if (method !== 'HEAD') t.match(reply.json(), { code }, `${method} ${path}`);
  }
  const options = await send(FIRST, { method: 'OPTIONS' });
  t.equal(options.status, 204);
});

test('identifiers of any characters are found percent-encoded', async (t) => {
  const ids = [
    'a/b',
    'a b',
    'é',
    '\u{1F600}'.repeat(32),
    '100%',
    'a?b#c',
    '%2F',
    'a/',
    '/',
    'x'.repeat(64),
    '..a',
    ':id',
    '*',
  ];
  const views = {
    ...viewsOf(),
    view: viewOfEvents(
      ids.map((id, n) => eventOf(n, { id })),
      'any',
    ),
  };
  const { send } = await serve(t, setUp({ views }).handler);
  for (const id of ids) {
    for (const end of ['', '/']) {
      const path = `${SCHEDULE}/events/${encodeURIComponent(id)}${end}`;
      const reply = await send(path, { headers: GOOD });
      t.equal(reply.status, 200, path);
      t.match(reply.json(), { id });
    }
  }
  const encoded = await send(`${SCHEDULE.replace('schedule', 'sch%65dule')}/%65vents/a%2Fb`, {
    headers: GOOD,
  });
  t.match(encoded.json(), { id: 'a/b' }, 'percent-encoded letters are the letters');
  t.equal((await send(`${SCHEDULE}/events/a/b`, { headers: GOOD })).status, 404);
});

test('the router passes any event id on unchanged', async (t) => {
  const findRoute = createRouter(scheduleRoutes('/api'));
  for (let n = 0; n < 3 * ROUTE_MEMO_ENTRIES_MAX; n++) {
    t.match(findRoute(`/api/schedule/events/${n}`), { endpoint: 'events' });
  }
  t.match(findRoute('/api/schedule/rooms'), { endpoint: 'rooms' });
  t.equal(lastSegmentOf('/api/schedule/events/a%2Fb/'), 'a/b');
  t.equal(lastSegmentOf('/api/schedule/events/a'), 'a');
});

test('directories and events wait for the snapshot', async (t) => {
  const views = viewsOf();
  views.view = null;
  const { send } = await serve(t, setUp({ views }).handler);
  for (const path of [`${SCHEDULE}/rooms`, FIRST]) {
    t.match((await send(path, { headers: GOOD })).json(), { code: 'snapshot-unavailable' });
  }
});
