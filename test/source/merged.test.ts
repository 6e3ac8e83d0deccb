import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { REJECTIONS_KEPT_MAX } from '../../src/base/limits.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { faultyRecords, type SnapshotSummary } from '../../src/snapshot/summary.js';
import { fileSource } from '../../src/source/file.js';
import { httpSource } from '../../src/source/http.js';
import { mergedSource } from '../../src/source/merged.js';
import type { LoadOptions, LoadProgress, PartReport, Source } from '../../src/source/source.js';
import { collect, failureOf, isUnchanged, memorySource } from './collect.js';
import { allClosed, ndjson, startUpstream } from './http/upstream.js';

const event = (id: string, title: string): object => ({
  id,
  title,
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T10:00:00Z',
});

/** A source with a settable version, which records its requests. */
function versioned(name: string, records: readonly unknown[], version: string | null) {
  const asked: (string | null)[] = [];
  const source = {
    name,
    version,
    asked,
    async load(sink, { previous = null } = {}) {
      asked.push(previous);
      if (previous !== null && previous === source.version) return 'not-modified';
      await memorySource(records).load(sink);
      return { format: 'memory', gzipped: false, bytesRead: 0, version: source.version };
    },
  } satisfies Source & Record<string, unknown> as Source & {
    version: string | null;
    asked: (string | null)[];
  };
  return source;
}

async function summaryOf(source: Source): Promise<SnapshotSummary> {
  return (await loadImage(source, { identifiers: 'any' })).image.summary;
}

async function titlesOf(source: Source): Promise<Record<string, string>> {
  const { image } = await loadImage(source, { identifiers: 'any' });
  const rows = JSON.parse(Buffer.from(image.rows.bytes).toString('utf8')) as { id: string; title: string }[];
  return Object.fromEntries(rows.map(({ id, title }) => [id, title]));
}

test('of two events with one id, the event of the later source wins', async (t) => {
  const one = memorySource([event('a', '1'), event('b', '1'), event('c', '1')], 'one');
  const two = memorySource([event('b', '2'), event('c', '2'), event('d', '2')], 'two');
  const three = memorySource([event('c', '3')], 'three');
  t.strictSame(await titlesOf(mergedSource([one, two, three])), { a: '1', b: '2', c: '3', d: '2' });
  t.strictSame(await titlesOf(mergedSource([three, two, one])), { a: '1', b: '1', c: '1', d: '2' });
});

test('of records with several values, the later source wins for each value that it has, too', async (t) => {
  const lesson = (title: string, studyGroup: string | string[]): object => ({
    ...event('a', title),
    studyGroup,
  });
  const earlier = memorySource([lesson('1', ['G1', 'G2']), event('b', '1')], 'earlier');
  const later = memorySource([lesson('2', ['G2', 'G3'])], 'later');
  const { image } = await loadImage(mergedSource([earlier, later]), { identifiers: 'any' });
  const rows = JSON.parse(Buffer.from(image.rows.bytes).toString('utf8')) as Record<string, unknown>[];
  t.strictSame(rows.map(({ studyGroup, title }) => `${studyGroup} ${title}`).sort(), [
    'G1 1',
    'G2 2',
    'G3 2',
    'null 1',
  ]);
  t.strictSame(image.summary.rejectedByCode, { overridden: 1 });
  t.match(image.summary.rejections, [{ detail: /is overridden by the record of later$/ }]);
});

test('overridden records are reported separately from faults', async (t) => {
  const one = memorySource(
    [event('a', '1'), event('b', '1'), event('b', '1 again'), event('c', '1'), {}],
    'one',
  );
  const two = memorySource([event('c', '2'), event('c', '2 again'), event('a', '2')], 'two');
  const summary = await summaryOf(mergedSource([one, two]));
  t.equal(summary.events, 3);
  t.equal(summary.rejected, 5);
  t.strictSame(summary.rejectedByCode, { 'duplicate-id': 2, overridden: 2, 'missing-field': 1 });
  t.equal(faultyRecords(summary), 3);
  t.strictSame(
    summary.rejections.map(({ position, code, detail }) => [position, code, detail]),
    [
      [
        { record: 2, source: 'two', id: 'c' },
        'duplicate-id',
        'id "c" was already used by an earlier record, which is kept',
      ],
      [{ record: 1, source: 'one', id: 'a' }, 'overridden', 'id "a" is overridden by the record of two'],
      [
        { record: 3, source: 'one', id: 'b' },
        'duplicate-id',
        'id "b" was already used by an earlier record, which is kept',
      ],
      [{ record: 4, source: 'one', id: 'c' }, 'overridden', 'id "c" is overridden by the record of two'],
      [{ record: 5, source: 'one' }, 'missing-field', summary.rejections[4]?.detail],
    ],
  );
});

test('a bad record does not override a good one', async (t) => {
  const merged = mergedSource([memorySource([event('a', '1')], 'one'), memorySource([{ id: 'a' }], 'two')]);
  t.strictSame(await titlesOf(merged), { a: '1' });
});

test('many overridden records leave room for faults in the report', async (t) => {
  const many = Array.from({ length: 2 * REJECTIONS_KEPT_MAX }, (_, i) => event(`e${i}`, ''));
  const summary = await summaryOf(
    mergedSource([memorySource([...many, { id: 'bad' }], 'one'), memorySource(many, 'two')]),
  );
  t.equal(summary.rejectedByCode.overridden, many.length);
  t.equal(summary.rejections.at(-1)?.code, 'missing-field');
});

test('sources of equal names are told apart, even if they are merged themselves', async (t) => {
  const one = memorySource([event('a', '1')], 'same');
  const two = memorySource([event('a', '2')], 'same');
  const merged = mergedSource([one, two]);
  t.equal(merged.name, 'same (source 1) + same (source 2)');
  t.strictSame((await summaryOf(merged)).rejectedByCode, { overridden: 1 });
  const nested = mergedSource([merged, memorySource([event('b', '3')], 'third')]);
  t.strictSame((await summaryOf(nested)).rejectedByCode, { overridden: 1 });
  t.equal((await summaryOf(nested)).rejections[0]?.position.source, 'same (source 1)');
});

test('one source, the same source twice, and no source are handled', async (t) => {
  const one = memorySource([event('a', '1')], 'one');
  t.equal((await collect(mergedSource([one]))).records.length, 1);
  t.strictSame((await summaryOf(mergedSource([one, one]))).rejectedByCode, { overridden: 1 });
  t.throws(() => mergedSource([]), { code: 'option-invalid' });
});

test('the result is unmodified if every source is unmodified', async (t) => {
  const sources = ['a', 'b', 'c'].map((name) => versioned(name, [{ id: name }], `${name}1`));
  const merged = mergedSource(sources);
  let parts: readonly PartReport[] = [];
  const onParts: LoadOptions['onParts'] = (report) => {
    parts = report.parts;
  };
  const { version } = (await collect(merged, { onParts })).summary;
  t.ok(await isUnchanged(merged, version, { parts }));
  t.strictSame(
    sources.map(({ asked }) => asked),
    [
      [null, 'a1'],
      [null, 'b1'],
      [null, 'c1'],
    ],
  );
});

test('if one source changed, all are read completely, in order, each record once', async (t) => {
  for (const changed of [0, 1, 2]) {
    const parts = ['a', 'b', 'c'].map((name) => versioned(name, [{ id: name }], `${name}1`));
    const merged = mergedSource(parts);
    const { version } = (await collect(merged)).summary;
    const part = parts[changed];
    if (part !== undefined) part.version = 'new';
    const read = await collect(merged, { previous: version });
    t.strictSame(
      read.records.map(({ value, position }) => [(value as { id: string }).id, position.source]),
      [
        ['c', 'c'],
        ['b', 'b'],
        ['a', 'a'],
      ],
      `source ${changed}`,
    );
    t.not(read.summary.version, version);
    t.ok(await isUnchanged(merged, read.summary.version));
  }
});

test('if one source has no version, the whole has none', async (t) => {
  const merged = mergedSource([versioned('a', [1], 'a1'), memorySource([2])]);
  const { version } = (await collect(merged)).summary;
  t.equal(version, null);
  t.notOk(await isUnchanged(merged, version));
});

test('a version for another number of sources is not sent', async (t) => {
  for (const previous of [
    '',
    'null',
    '"a1"',
    '["a1"]',
    '["a1","b1","c1"]',
    '["a1",null]',
    '{"0":"a1","1":"b1"}',
  ]) {
    const parts = ['a', 'b'].map((name) => versioned(name, [{ id: name }], `${name}1`));
    t.notOk(await isUnchanged(mergedSource(parts), previous), previous);
    t.strictSame(
      parts.map(({ asked }) => asked),
      [[null], [null]],
      previous,
    );
  }
});

test('a file and an address work together when only one changed', async (t) => {
  const path = join(t.testdir({ data: ndjson([event('a', 'file'), event('b', 'file')]) }), 'data');
  let etag = '"one"';
  const upstream = await startUpstream(t, (request, response) => {
    response.setHeader('etag', etag);
    if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
    else response.end(ndjson([event('b', `http ${etag}`)]));
  });
  const merged = mergedSource([fileSource(path), httpSource({ kind: 'http', url: upstream.origin })]);
  t.equal(merged.name, `${path} + ${upstream.origin}/`);
  const first = await loadImage(merged, { identifiers: 'any' });
  t.equal(first.image.summary.events, 2);
  t.ok(await isUnchanged(merged, first.source.version));

  etag = '"two"';
  const second = await collect(merged, { previous: first.source.version });
  t.equal(second.records.length, 3);
  writeFileSync(path, ndjson([event('a', 'file 2')]));
  const third = await collect(merged, { previous: second.summary.version });
  t.equal(third.records.length, 2);
  t.ok(await isUnchanged(merged, third.summary.version));
  await allClosed(upstream);
});

test('if one source fails, the load fails and names it', async (t) => {
  const good = memorySource([event('a', '1')], 'good');
  const upstream = await startUpstream(t, (_, response) =>
    response.writeHead(503, { 'retry-after': '7' }).end(),
  );
  const bad = httpSource({ kind: 'http', url: upstream.origin });
  for (const parts of [
    [good, bad],
    [bad, good],
  ]) {
    const failure = await failureOf(collect(mergedSource(parts)));
    t.match(failure, { code: 'source-unreadable', message: bad.name, retryAfterMs: 7000 });
  }
  const folder = t.testdir({ data: ndjson([event('a', '1')]) });
  const path = join(folder, 'data');
  const merged = mergedSource([fileSource(join(folder, 'missing')), fileSource(path)]);
  t.match(await failureOf(collect(merged)), { message: `${join(folder, 'missing')}: there is no such file` });
});

test('a source that fails when asked for changes fails the load', async (t) => {
  const folder = t.testdir({ one: ndjson([event('a', '1')]), two: ndjson([event('b', '1')]) });
  const merged = mergedSource([fileSource(join(folder, 'one')), fileSource(join(folder, 'two'))]);
  const { version } = (await collect(merged)).summary;
  writeFileSync(join(folder, 'one'), '<html>');
  t.match(await failureOf(collect(merged, { previous: version })), {
    code: 'source-malformed',
    message: 'one',
  });
});

test('an abort reason and errors of the sink come through', async (t) => {
  const merged = mergedSource([memorySource([{}], 'one'), memorySource([{}], 'two')]);
  const reason = new Error('enough');
  t.equal(await failureOf(collect(merged, { signal: AbortSignal.abort(reason) })), reason);
  const mistake = new TypeError('a mistake');
  const sink = {
    row(): void {
      throw mistake;
    },
    fault(): void {},
  };
  t.equal(await failureOf(merged.load(sink)), mistake);
});

test('progress is the sum over all sources', async (t) => {
  const folder = t.testdir({ one: '{}\n{}\n', two: '{}\n' });
  const merged = mergedSource([fileSource(join(folder, 'one')), fileSource(join(folder, 'two'))]);
  const progress: LoadProgress[] = [];
  const { summary } = await collect(merged, { onProgress: (p) => progress.push(p) });
  t.match(summary, { format: 'ndjson', gzipped: false, bytesRead: 9 });
  const sums = progress.map(({ records }) => records);
  t.strictSame(sums, [...sums].sort(), 'it never goes back');
  t.strictSame(progress.at(-1), { bytesRead: 9, bytesTotal: null, records: 3 });
});

test('a load reports its version before the first record; a part without a version makes it null', async (t) => {
  const told: (string | null)[] = [];
  const withVersion = versioned('b', [event('b', 'b')], 'b1');
  const toldAt: (string | null | undefined)[] = [];
  const sink = { row: () => toldAt.push(told.at(-1)), fault: () => {} };
  const options = { onVersion: (version: string | null) => told.push(version) };
  await mergedSource([memorySource([event('a', 'a')]), withVersion]).load(sink, options);
  t.strictSame(toldAt, [null, null], 'a load that is refused is read again');
  toldAt.length = 0;
  const summary = await mergedSource([withVersion, withVersion]).load(sink, options);
  const version = summary === 'not-modified' ? null : summary.version;
  t.type(version, 'string');
  t.strictSame(toldAt, [version, version]);
});
