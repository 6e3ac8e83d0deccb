import { createHmac } from 'node:crypto';

const KEYS = ['roomId', 'lecturerId', 'studyGroup', 'courseId'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const USERS = 10_000;
const NO_COURSE = '00000000-0000-4000-8000-000000000000';

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

/** An HS256 token, valid for a day. */
export function tokenOf(secret, claims) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 86_400;
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...claims, exp })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const hmac = (key, text) => createHmac('sha256', key).update(text);

/**
 * The path of a feed, as GET /schedule/feed gives it, signed with the same secret as the tokens.
 *
 * @param {[string, ...string[]][]} claimed fields and their values
 * @param {[string, ...string[]][]} query names and their values
 */
export function feedOf(secret, subject, claimed, query) {
  const key = hmac(secret, 'lectern feed addresses, 1').digest();
  const id = hmac(key, 'id').digest('base64url').slice(0, 4);
  const nowMs = Date.now();
  const grant = [subject, claimed, query, nowMs, nowMs + DAY_MS];
  const payload = id + Buffer.from(JSON.stringify(grant)).toString('base64url');
  return `/api/v1/feeds/${payload}.${hmac(key, payload).digest('base64url')}.json`;
}

const instant = (ms) => new Date(ms).toISOString();
const path = (rest) => `/api/v1/schedule${rest}`;

/** Random queries on one set of events. */
class Questions {
  #lists;
  #rooms;
  #courses;

  /** @param {object[]} events in order of time */
  constructor(events, secret) {
    this.secret = secret;
    this.headers = { authorization: `Bearer ${tokenOf(secret, { sub: 'bench' })}` };
    const byKey = new Map();
    for (const event of events) {
      for (const key of KEYS) {
        if ((event[key] ?? null) === null) continue;
        const name = `${key}=${encodeURIComponent(event[key])}`;
        if (!byKey.has(name)) byKey.set(name, []);
        byKey.get(name).push(event);
      }
    }
    this.#lists = [...byKey].filter(([, list]) => list.length >= 20);
    this.#rooms = this.#lists.filter(([name]) => name.startsWith('roomId'));
    this.#courses = [...new Set(events.map(({ courseId }) => courseId ?? null))].filter((id) => id !== null);
    this.spanStartMs = Date.parse(events[0].time);
    this.spanMs = Date.parse(events.at(-1).time) - this.spanStartMs;
  }

  /**
   * A filter and a window that together select about `size` events. Milliseconds make each URL unique.
   *
   * @param {() => number} random
   * @param {number} size
   * @param {boolean} [ofRoom] whether the filter must be a room
   */
  filtered(random, size, ofRoom = false) {
    const from = ofRoom ? this.#rooms : this.#lists;
    const [name, list] = from[Math.floor(random() * from.length)];
    const first = Math.floor(random() * (list.length - size));
    const startMs = Date.parse(list[first].time) + Math.floor(random() * 1000);
    // If all events begin at once, the window must not end before it begins.
    const endMs =
      Math.max(startMs, Date.parse(list[first + size - 1].time) + Math.floor(random() * 60_000)) + 1;
    const window = `startTime=${instant(startMs)}&endTime=${instant(endMs)}`;
    return { name, event: list[first], window, within: list.slice(first, first + size) };
  }

  /** A course that none of these events has, so that leaving it out changes no answer. */
  otherCourse(random, within) {
    const count = this.#courses.length;
    const start = Math.floor(random() * count);
    for (let n = 0; n < count; n++) {
      const course = this.#courses[(start + n) % count];
      if (within.every(({ courseId }) => courseId !== course)) return course;
    }
    return NO_COURSE;
  }

  /** A window with the given number of days, anywhere in the set. */
  window(random, days) {
    const startMs = this.spanStartMs + Math.floor(random() * this.spanMs);
    return `startTime=${instant(startMs)}&endTime=${instant(startMs + days * DAY_MS)}`;
  }

  /** A URL that is requested repeatedly. */
  hot(random) {
    const { name, window } = this.filtered(random, 14);
    return { path: path(`?${name}&${window}`), headers: this.headers };
  }

  users(random, count) {
    return Array.from({ length: count }, (_, n) => {
      const { event } = this.filtered(random, 14);
      const { studyGroup, lecturerId } = event;
      return { sub: `user-${n}`, studyGroup: studyGroup ?? 'none', lecturerId: lecturerId ?? undefined };
    });
  }

  /** The personal feed of a user, for a week anywhere in the set. */
  feed(random, { sub, studyGroup, lecturerId }) {
    const claimed = [
      ['studyGroup', studyGroup],
      ['lecturerId', lecturerId],
    ].filter(([, value]) => value !== undefined);
    const window = [...new URLSearchParams(this.window(random, 7))];
    return { path: feedOf(this.secret, sub, claimed, window), headers: {} };
  }
}

/** Targets that others are multiples of. */
const FILTER_WINDOW_MAX = 0.9;
const PERSONAL_MAX = 1.2;

/**
 * Every workload: its name, its target as a ratio to the floor, and its requests. `many` makes the requested number of
 * them. `expect304`: the expected answer is 304. `connections`: this number instead of the usual one.
 */
export const WORKLOADS = [
  { name: 'hot URL', target: 0.6, requests: (questions, random) => [questions.hot(random)] },
  {
    name: 'filter + window',
    target: FILTER_WINDOW_MAX,
    requests: (questions, random, many) =>
      many(() => {
        const { name, window } = questions.filtered(random, 14);
        return { path: path(`?${name}&${window}`), headers: questions.headers };
      }),
  },
  {
    name: 'two filters + window',
    target: 1,
    requests: (questions, random, many) =>
      many(() => {
        const { name, event, window } = questions.filtered(random, 20);
        const type = encodeURIComponent(event.type ?? 'LEC');
        return { path: path(`?${name}&type=${type}&${window}`), headers: questions.headers };
      }),
  },
  {
    name: 'window of a day',
    target: 1.3,
    requests: (questions, random, many) =>
      many(() => ({ path: path(`?${questions.window(random, 1)}`), headers: questions.headers })),
  },
  {
    name: 'personal',
    target: PERSONAL_MAX,
    requests(questions, random, many, count) {
      const fields = questions
        .users(random, Math.min(USERS, count))
        .map((claims) => ({ authorization: `Bearer ${tokenOf(questions.secret, claims)}` }));
      return many((_, n) => ({
        path: path(`/personal?${questions.window(random, 7)}`),
        headers: fields[n % fields.length],
      }));
    },
  },
  {
    name: '304',
    target: 0.6,
    expect304: true,
    requests: (questions, random) => [questions.hot(random)],
  },
  {
    name: 'all',
    target: 1.05,
    connections: 4,
    requests: (questions) => [{ path: path('/all'), headers: questions.headers }],
  },
  {
    name: 'conflicts of a room + window',
    target: 1,
    requests: (questions, random, many) =>
      many(() => {
        const { name, window } = questions.filtered(random, 20, true);
        return { path: path(`/conflicts?${name}&${window}`), headers: questions.headers };
      }),
  },
  filteredAs('MessagePack', 'application/vnd.msgpack', 0.95),
];

/** Measured with `--only`. They join {@link WORKLOADS} with the next published run. */
export const FURTHER_WORKLOADS = [
  {
    name: 'feeds of different users',
    target: 1.6 * PERSONAL_MAX,
    requests: (questions, random, _, count) =>
      questions.users(random, Math.min(USERS, count)).map((user) => questions.feed(random, user)),
  },
  {
    name: 'pages of different users',
    target: 2.4 * PERSONAL_MAX,
    requests: (questions, random, _, count) =>
      questions.users(random, Math.min(USERS, count)).map((user) => {
        const feed = questions.feed(random, user);
        return { ...feed, path: feed.path.replace(/json$/, 'html') };
      }),
  },
  {
    name: 'feed, 304',
    target: 1.2,
    expect304: true,
    requests: (questions, random) => [questions.feed(random, questions.users(random, 1)[0])],
  },
  {
    name: 'filter + window, not a course',
    target: 1.05 * FILTER_WINDOW_MAX,
    requests: (questions, random, many) =>
      many(() => {
        const { name, window, within } = questions.filtered(random, 14);
        const course = encodeURIComponent(questions.otherCourse(random, within));
        return { path: path(`?${name}&courseId!=${course}&${window}`), headers: questions.headers };
      }),
  },
  filteredAs('NDJSON', 'application/x-ndjson', 1.5),
  filteredAs('CSV', 'text/csv', 1.5),
  filteredAs('iCalendar', 'text/calendar', 1.5),
  allAs('NDJSON', 'application/x-ndjson'),
  allAs('CSV', 'text/csv'),
];

function filteredAs(representation, accept, target) {
  return {
    name: `${representation}, filter + window`,
    target,
    requests(questions, random, many) {
      const headers = { ...questions.headers, accept };
      return many(() => {
        const { name, window } = questions.filtered(random, 14);
        return { path: path(`?${name}&${window}`), headers };
      });
    },
  };
}

function allAs(representation, accept) {
  return {
    name: `${representation}, all`,
    target: 1.5,
    connections: 4,
    requests: (questions) => [{ path: path('/all'), headers: { ...questions.headers, accept } }],
  };
}

/**
 * The workloads on one set of events.
 *
 * @param {object[]} events in order of time
 * @param {{ secret: string, count: number, seed: number }} options `count` different requests of each
 * @returns those of {@link WORKLOADS} and {@link FURTHER_WORKLOADS}; requests are made on first use
 */
export function workloadsOf(events, { secret, count, seed }) {
  const questions = new Questions(events, secret);
  const many = (make) => Array.from({ length: count }, make);
  return [...WORKLOADS, ...FURTHER_WORKLOADS].map((workload, n) => ({
    ...workload,
    get requests() {
      return workload.requests(questions, randomFrom(seed * 1000 + n), many, count);
    },
  }));
}

/**
 * Requests of one URL, each with its own valid token.
 *
 * @param {object[]} events in order of time
 * @param {{ secret: string, count: number, seed: number }} options `count` is the number of tokens
 */
export function firstSights(events, { secret, count, seed }) {
  const { path: hot } = new Questions(events, secret).hot(randomFrom(seed));
  return Array.from({ length: count }, (_, n) => ({
    path: hot,
    headers: { authorization: `Bearer ${tokenOf(secret, { sub: `visitor-${n}` })}` },
  }));
}
