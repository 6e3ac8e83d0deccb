/** The service refuses each of 100,000 bad addresses, and none makes it fail. */
import { Agent, request } from 'node:http';
import { test } from 'tap';
import { PresentAccess } from '../../src/auth/access.js';
import { FeedAddresses } from '../../src/auth/feed-address.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { serve, setUp } from '../http/harness.js';
import { addressesOf, grantFor, hostileFeeds, NOW_MS, REVOKED, SECRETS } from './hostile-feeds.js';

const COUNT = 100_000;
const REQUESTS = size(10_000, COUNT);
const SEED = 20_261_123;

test('none of 100,000 bad addresses is accepted', async (t) => {
  const addresses = addressesOf();
  const accepted: string[] = [];
  const kinds = new Map<string, number>();
  for (const [kind, address] of hostileFeeds(COUNT, SEED)) {
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (addresses.grantOf(address) !== null) accepted.push(`${kind}: ${address}`);
  }
  t.same(accepted, []);
  t.equal(kinds.size, 10);
  const deep = Buffer.from('['.repeat(6000)).toString('base64url');
  t.equal(addresses.grantOf(`AAAA${deep}.${'A'.repeat(43)}`), null, 'deep');
  const good = addresses.sign(grantFor('alice'));
  t.same(addresses.grantOf(good), grantFor('alice'), 'a good one is');
  t.same(addresses.grantOf(good), grantFor('alice'), 'also when it is known');
  t.same(
    addresses.grantOf(addressesOf([SECRETS[1]]).sign(grantFor('bob'))),
    grantFor('bob'),
    'also of the secret before',
  );
});

test('over HTTP all bad addresses get the same 404', async (t) => {
  const revocations = new Map([[REVOKED, NOW_MS + 1]]);
  const access = new PresentAccess({ feedSecrets: SECRETS, feedRevocations: revocations });
  const { handler, logged } = setUp({ access, feeds: { now: () => NOW_MS }, accessLog: 1 });
  const { port } = await serve(t, handler);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const ask = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const req = request({ host: '127.0.0.1', port, path, agent }, (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        res.on('end', () => {
          const { date: _, ...headers } = res.headers;
          resolve(JSON.stringify([res.statusCode, headers, text]));
        });
      });
      req.on('error', reject).end();
    });
  const found = new Map<string, string>();
  let asked = 0;
  for (const [kind, address] of hostileFeeds(REQUESTS * 1.2, SEED + 1)) {
    // Other characters never reach the service, because clients and node:http refuse them. Dots alone change the path.
    if (
      asked === REQUESTS ||
      !/^[\x21-\x7e]+$/.test(address) ||
      address.includes('?') ||
      address.includes('#')
    )
      continue;
    asked++;
    const reply = await ask(`/api/v1/feeds/${address}.json`);
    if (!found.has(reply)) found.set(reply, kind);
  }
  t.equal(asked, REQUESTS);
  t.equal(found.size, 1, JSON.stringify([...found]));
  t.match([...found.keys()][0], /^\[404,.*no-referrer.*not-found/);
  const routes = new Set(logged.map(({ fields }) => JSON.stringify([(fields as { route: string }).route])));
  t.same([...routes], ['["/feeds"]']);
  if (HARD)
    recordFigure('feed-addresses', `0 of ${COUNT} accepted; ${REQUESTS} over HTTP, all with the same 404`);
});

test('an address with many values counts as many addresses in the cache', async (t) => {
  const secrets = SECRETS;
  const addresses = new FeedAddresses({
    secrets,
    revocations: () => new Map(),
    cacheBytesMax: 64 * 1024,
    now: () => NOW_MS,
  });
  const isKept = (address: string): boolean => {
    const first = addresses.grantOf(address);
    return first === addresses.grantOf(address);
  };
  const many = Array.from({ length: 500 }, () => 'A');
  t.equal(isKept(addresses.sign(grantFor('alice'))), true);
  const pairs = many.map((value) => ['type', value] as const);
  t.equal(
    isKept(addresses.sign(grantFor('alice', { pairs }))),
    false,
    'an address that needs more than half of the cache is not kept',
  );
  const claimed = [{ field: 'studyGroup' as const, values: many }];
  t.equal(isKept(addresses.sign(grantFor('alice', { claimed }))), false);
});
