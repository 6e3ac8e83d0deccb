/** Tokens and feed addresses with good signatures and odd contents never get a 5xx. */
import { createHmac, createSecretKey } from 'node:crypto';
import { Agent, get } from 'node:http';
import { test } from 'tap';
import { hs256 } from '../auth/tokens.js';
import { serve, setUp } from './harness.js';

/** JSON texts. */
const VALUES: readonly string[] = [
  ...['null', 'true', 'false', '0', '-0', '-1', '1.5', '1e308', '1e400', '-1e400', '1e-400'],
  ...['12345678901234567890123456789', '9007199254740993', '""', '" "', '"A"', '"\\u0000"', '"\\ufeff"'],
  ...['"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"e\\u0301"', '"\\u2028"', '"a\\r\\nX: y"'],
  ...['"__proto__"', '"constructor"', '"toString"', '"2C3C9BFD-5DA4-5A45-8BDB-5C0FE7902417"'],
  ...['[]', '[[]]', '[null]', '[""]', '["A"]', '["A",1,null,{},[],true]', '{}', '{"0":"A","length":1}'],
  ...['{"toString":1}', '{"valueOf":null,"toString":null}', '{"__proto__":null}', '{"constructor":1}'],
  ...['{"then":1}', '{"toJSON":1}', '{"map":1,"length":3}', '["__proto__"]', '{"sub":"x"}'],
  `"${'a'.repeat(5000)}"`,
  `"${'\u0301'.repeat(900)}"`,
  `[${Array.from({ length: 1200 }, (_, n) => `"${n}"`).join(',')}]`,
  `[${'[],'.repeat(1500)}[]]`,
  '['.repeat(2500) + ']'.repeat(2500),
  `${'{"a":'.repeat(900)}1${'}'.repeat(900)}`,
];

interface Asked {
  readonly path: string;
  readonly payload: string;
  readonly headers?: Record<string, string>;
}

/** Counts answers by status, and collects those of 5xx. Few connections carry all requests, which takes less time. */
async function askAll(port: number, all: readonly Asked[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const statuses = new Map<number, number>();
  const faults: string[] = [];
  const ask = ({ path, payload, headers = {} }: Asked): Promise<void> =>
    new Promise((resolve, reject) => {
      const ended = (status: number): void => {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status >= 500) faults.push(`${status} ${path.slice(0, 40)} ${payload.slice(0, 80)}`);
        resolve();
      };
      get({ host: '127.0.0.1', port, path, headers, agent }, (res) => {
        res.resume().on('end', () => ended(res.statusCode ?? 0));
      }).on('error', reject);
    });
  await Promise.all(all.map(ask));
  agent.destroy();
  return { statuses, faults };
}

const SECONDS = Math.floor(Date.now() / 1000) + 3600;
const CLAIMS = [
  'sub',
  'exp',
  'nbf',
  'iat',
  'iss',
  'aud',
  'studyGroup',
  'groupIds',
  'lecturerId',
  '__proto__',
];
const FEED_SECRET = Buffer.from('a feed secret of the tests, 32 bytes');

const start = (t: Parameters<typeof serve>[0]) => {
  const claims = { courseId: ['__proto__', 'constructor', 'sub', 'exp', 'aud'] };
  return serve(t, setUp({ feeds: {}, feedSecrets: [FEED_SECRET], claims }).handler);
};

test('a token with a good signature and odd claims is refused, or names a user', async (t) => {
  const { port } = await start(t);
  const payloads = CLAIMS.flatMap((claim) =>
    VALUES.map((value) => {
      const others = { sub: '"alice"', exp: String(SECONDS), studyGroup: '"A"' };
      const members = Object.entries({ ...others, [claim]: value });
      if (claim === '__proto__') members.push([claim, value]);
      return `{${members.map(([name, text]) => `"${name}":${text}`).join(',')}}`;
    }),
  );
  const wholes = [...VALUES, '', '{', `{"sub":"a","exp":${SECONDS}}x`, `\ufeff{"sub":"a","exp":${SECONDS}}`];
  const paths = ['', '/all', '/types', '/conflicts', '/rooms', '/free?by=room&date=2024-09-02', '/events/x'];
  const asked = [...payloads, ...wholes].flatMap((payload, n): Asked[] => {
    const headers = { Authorization: `Bearer ${hs256(payload)}` };
    const some = ['/personal', '/feed?for=personal', ...(n % 4 === 0 ? [paths[(n / 4) % paths.length]] : [])];
    return some.map((path) => ({ path: `/api/v1/schedule${path}`, payload, headers }));
  });
  const { faults, statuses } = await askAll(port, asked);
  t.strictSame(faults, []);
  for (const status of [200, 401]) t.ok((statuses.get(status) ?? 0) > 300, `${status}`);
});

/** An address as `FeedAddresses` signs it, with any payload. */
function addressOf(payload: string): string {
  const key = createSecretKey(createHmac('sha256', FEED_SECRET).update('lectern feed addresses, 1').digest());
  const id = createHmac('sha256', key).update('id').digest('base64url').slice(0, 4);
  const text = id + Buffer.from(payload).toString('base64url');
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

test('a feed address with a good signature and an odd payload gets 404', async (t) => {
  const { port, send } = await start(t);
  const plain = ['"alice"', 'null', '[["studyGroup","A"]]', '0', '9e15'];
  const personal = ['"alice"', '[["studyGroup","A"]]', '[]', '0', '9e15'];
  const groups = VALUES.flatMap((value) => [`[[${value},"A"]]`, `[["studyGroup",${value}]]`, `[${value}]`]);
  const odd = [...VALUES, ...groups, '[["limit","0"]]', '[["nothing","x"]]', '[["cursor","x"]]'];
  const payloads = [plain, personal].flatMap((whole) =>
    whole.flatMap((_, n) =>
      odd.map((value) => `[${whole.map((text, at) => (at === n ? value : text)).join(',')}]`),
    ),
  );
  const wholes = [...VALUES, '', `[${plain.join(',')},1]`, `[${plain.slice(1).join(',')}]`];
  const asked = [...payloads, ...wholes].map(
    (payload): Asked => ({ path: `/api/v1/feeds/${addressOf(payload)}.ics`, payload }),
  );
  const { faults, statuses } = await askAll(
    port,
    asked.filter(({ path }) => path.length < 8000),
  );
  t.strictSame(faults, []);
  for (const payload of [plain, personal].map((whole) => `[${whole.join(',')}]`))
    t.equal((await send(`/api/v1/feeds/${addressOf(payload)}.ics`)).status, 200, payload);
  for (const status of [200, 404]) t.ok((statuses.get(status) ?? 0) > 100, `${status}`);
});
