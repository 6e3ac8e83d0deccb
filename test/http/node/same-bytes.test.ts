/** Requests on the lane and requests that Node handles get the same bytes and the same lines of the log. */
import fc from 'fast-check';
import { test } from 'tap';
import { size } from '../../hard/size.js';
import { AUTHORIZATION, assertSameBothWays, CASES, PATH, type Script, script } from './both-ways.js';

const SEED = 20_270_301;

test('the corpus of raw requests, whole and cut', async (t) => {
  const scripts = CASES.flatMap((bytes, n): Script[] => {
    const step = Math.max(1, Math.ceil(bytes.length / size(2, bytes.length, 60)));
    const cuts: Script[] = [];
    for (let at = 1 + (n % step); at < bytes.length; at += step)
      cuts.push([bytes.subarray(0, at), bytes.subarray(at)]);
    return [[bytes], ...cuts];
  });
  await assertSameBothWays(t, scripts);
});

test('nothing is answered behind an answer that closes its connection', async (t) => {
  const fields = `Host: a\r\nConnection: keep-alive\r\n${AUTHORIZATION}`;
  const next = `GET ${PATH} HTTP/1.1\r\n${fields}\r\n`;
  const scripts = ['GET', 'HEAD', 'OPTIONS'].flatMap((method) =>
    [`${PATH}/types`, `${PATH}?format=csv`, PATH].flatMap((target) =>
      ['', 'If-None-Match: *\r\n', 'Origin: https://one.example\r\n'].map(
        (condition): Script => [
          Buffer.from(`${method} ${target} HTTP/1.0\r\n${fields}${condition}\r\n${next}`),
        ],
      ),
    ),
  );
  await assertSameBothWays(t, scripts);
});

test('generated requests, behind each other and in pieces', async (t) => {
  // 33,000 scripts have 100,000 requests.
  await assertSameBothWays(t, fc.sample(script, { numRuns: size(200, 33_000), seed: SEED }));
});
