import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'tap';
import { parseSourceArgument, type SourceSpec, sourceOfSpec } from '../../src/source/spec.js';
import { collect } from './collect.js';
import { ndjson, startUpstream } from './http/upstream.js';

test('the form of an argument decides the kind of source', (t) => {
  const cases: [text: string | string[], spec: object][] = [
    ['events.ndjson', { kind: 'file', path: 'events.ndjson' }],
    ['./http:/x', { kind: 'file', path: './http:/x' }],
    ['C:\\events.json', { kind: 'file', path: 'C:\\events.json' }],
    ['-', { kind: 'file', path: '-' }],
    [pathToFileURL('/a b').href, { kind: 'file', path: '/a b' }],
    ['http://host/all', { kind: 'http', url: 'http://host/all' }],
    ['HTTPS://host/all', { kind: 'http', url: 'HTTPS://host/all' }],
    ['webcal://host/feed.ics?x=1', { kind: 'http', url: 'https://host/feed.ics?x=1' }],
    ['WEBCALS://host:444/', { kind: 'http', url: 'https://host:444/' }],
    [['a'], { kind: 'file', path: 'a' }],
    [['a', 'http://host/'], { kind: 'merged', specs: [{ kind: 'file' }, { kind: 'http' }] }],
  ];
  for (const [text, spec] of cases) t.match(parseSourceArgument(text), spec, String(text));
  t.end();
});

test('an invalid source is refused with examples of valid ones', (t) => {
  const cases: [text: string | string[], message: RegExp][] = [
    ['', /empty; expected a path or an address/],
    [[], /no source is given/],
    [['a', ''], /empty/],
    [
      'ftp://host/secret',
      /scheme ftp cannot be read; expected a path, or an address that begins with http, .* nats, tls or folder and :/,
    ],
    ['http://host:secret/', /cannot be parsed/],
    ['file://host/secret', /not a file: URL of this machine/],
  ];
  for (const [text, message] of cases) {
    t.throws(() => parseSourceArgument(text), { code: 'option-invalid', message }, String(text));
    try {
      parseSourceArgument(text);
    } catch (error) {
      t.notMatch((error as Error).message, 'secret');
    }
  }
  t.end();
});

test('secrets in header fields can come from the environment', (t) => {
  const environment = { TOKEN: ' abc\n', EMPTY: '' };
  const headersOf = (headers: Record<string, string>) =>
    (parseSourceArgument('http://host/', { headers, environment }) as { headers?: object }).headers;
  t.strictSame(
    headersOf({ 'X-Key': 'env:TOKEN', Authorization: 'Bearer env:TOKEN', 'X-Other': 'my env:TOKEN too' }),
    {
      'X-Key': 'abc',
      Authorization: 'Bearer abc',
      'X-Other': 'my env:TOKEN too',
    },
  );
  for (const name of ['MISSING', 'EMPTY']) {
    t.throws(() => headersOf({ 'X-Key': `env:${name}` }), {
      code: 'option-invalid',
      message: `header X-Key of the source: the environment variable ${name} is not set`,
    });
  }
  t.end();
});

test('header fields go to one origin only', (t) => {
  const headers = { Authorization: 'Bearer secret' };
  const spec = parseSourceArgument(['http://one/a', 'http://one/b', 'file'], { headers });
  t.match(spec, { specs: [{ headers }, { headers }, { kind: 'file' }] });
  t.throws(() => parseSourceArgument(['http://one/', 'https://one/'], { headers }), {
    code: 'option-invalid',
    message: /on several origins: http:\/\/one, https:\/\/one; expected an origin in front of the name/,
  });
  t.equal(
    parseSourceArgument(['http://one/', 'http://two/']).kind,
    'merged',
    'without any it does not matter',
  );
  t.end();
});

test('a source description is the same source on another thread', async (t) => {
  const folder = t.testdir({ data: ndjson([{ title: '0' }, { title: '1' }]), ids: '{"Ada":"1"}' });
  const upstream = await startUpstream(t, (_, response) => response.end(ndjson([{ lecturer: 'Ada' }])));
  const spec: SourceSpec = parseSourceArgument([join(folder, 'data'), upstream.origin], {
    headers: { 'x-key': 'env:KEY' },
    environment: { KEY: 'abc' },
    lecturerIds: join(folder, 'ids'),
  });
  t.strictSame(structuredClone(spec), spec);
  const source = sourceOfSpec(structuredClone(spec));
  t.equal(source.name, `${join(folder, 'data')} + ${upstream.origin}/`);
  t.strictSame(
    (await collect(source)).records.map(({ value }) => value),
    [{ lecturer: 'Ada', lecturerId: '1' }, { title: '0' }, { title: '1' }],
  );
  t.equal(upstream.requests[0]?.headers['x-key'], 'abc');
});

test('one source may have its own map of lecturer identifiers', async (t) => {
  const folder = t.testdir({ one: '{"lecturer":"Ada"}\n', two: '{"lecturer":"Ada"}\n' });
  const source = sourceOfSpec({
    kind: 'merged',
    specs: [
      { kind: 'file', path: join(folder, 'one'), lecturerIds: { Ada: '1' } },
      { kind: 'file', path: join(folder, 'two') },
    ],
  });
  t.strictSame(
    (await collect(source)).records.map(({ value }) => value),
    [{ lecturer: 'Ada' }, { lecturer: 'Ada', lecturerId: '1' }],
  );
});
