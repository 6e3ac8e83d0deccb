import { createHmac } from 'node:crypto';

const KEYS = ['roomId', 'lecturerId', 'studyGroup', 'courseId'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A token of HS256, good for a day. */
export function tokenOf(secret, claims) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 86_400;
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...claims, exp })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const instant = (ms) => new Date(ms).toISOString();

/**
 * The workloads on one set of events.
 *
 * @param {object[]} events as they were generated, in order of time
 * @param {{ secret: string, count: number, seed: number }} options `count` different requests of each
 * @returns name, target ratio to the floor, requests; `expect304` where the answer is that
 */
export function workloadsOf(events, { secret, count, seed }) {
  const random = randomFrom(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const headers = { authorization: `Bearer ${tokenOf(secret, { sub: 'bench' })}` };
  const byKey = new Map();
  for (const event of events) {
    for (const key of KEYS) {
      if (event[key] === null) continue;
      const name = `${key}=${encodeURIComponent(event[key])}`;
      if (!byKey.has(name)) byKey.set(name, []);
      byKey.get(name).push(event);
    }
  }
  const lists = [...byKey].filter(([, list]) => list.length >= 20);
  const rooms = lists.filter(([name]) => name.startsWith('roomId'));

  /** A filter and a window that holds about `size` events of it. Milliseconds make each a URL of its own. */
  const filtered = (from, size) => {
    const [name, list] = pick(from);
    const first = Math.floor(random() * (list.length - size));
    const startMs = Date.parse(list[first].time) + Math.floor(random() * 1000);
    const endMs = Date.parse(list[first + size - 1].time) + 1 + Math.floor(random() * 60_000);
    return { name, event: list[first], window: `startTime=${instant(startMs)}&endTime=${instant(endMs)}` };
  };
  const spanStartMs = Date.parse(events[0].time);
  const spanMs = Date.parse(events.at(-1).time) - spanStartMs;
  const many = (make) => Array.from({ length: count }, make);
  const path = (rest) => `/api/v1/schedule${rest}`;
  const one = filtered(lists, 14);
  const hot = path(`?${one.name}&${one.window}`);
  const users = Array.from({ length: Math.min(10_000, count) }, (_, n) => {
    const { event } = filtered(lists, 14);
    return tokenOf(secret, {
      sub: `user-${n}`,
      studyGroup: event.studyGroup ?? 'none',
      lecturerId: event.lecturerId ?? undefined,
    });
  });
  return [
    { name: 'hot URL', target: 1.1, requests: [{ path: hot, headers }] },
    {
      name: 'filter + window',
      target: 1.25,
      requests: many(() => {
        const { name, window } = filtered(lists, 14);
        return { path: path(`?${name}&${window}`), headers };
      }),
    },
    {
      name: 'two filters + window',
      target: 1.5,
      requests: many(() => {
        const { name, event, window } = filtered(lists, 20);
        return { path: path(`?${name}&type=${encodeURIComponent(event.type ?? 'LEC')}&${window}`), headers };
      }),
    },
    {
      name: 'window of a day',
      target: 1.3,
      requests: many(() => {
        const startMs = spanStartMs + Math.floor(random() * spanMs);
        return { path: path(`?startTime=${instant(startMs)}&endTime=${instant(startMs + DAY_MS)}`), headers };
      }),
    },
    {
      name: 'personal',
      target: 1.4,
      requests: many((_, n) => {
        const startMs = spanStartMs + Math.floor(random() * spanMs);
        return {
          path: path(`/personal?startTime=${instant(startMs)}&endTime=${instant(startMs + 7 * DAY_MS)}`),
          headers: { authorization: `Bearer ${users[n % users.length]}` },
        };
      }),
    },
    { name: '304', target: 1.15, requests: [{ path: hot, headers }], expect304: true },
    { name: 'all', target: 1.05, requests: [{ path: path('/all'), headers }], connections: 4 },
    {
      name: 'conflicts of a room + window',
      target: 1.5,
      requests: many(() => {
        const { name, window } = filtered(rooms, 20);
        return { path: path(`/conflicts?${name}&${window}`), headers };
      }),
    },
    {
      name: 'MessagePack, filter + window',
      target: 1.35,
      requests: many(() => {
        const { name, window } = filtered(lists, 14);
        return {
          path: path(`?${name}&${window}`),
          headers: { ...headers, accept: 'application/vnd.msgpack' },
        };
      }),
    },
  ];
}
