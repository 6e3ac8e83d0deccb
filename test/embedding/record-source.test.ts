import { test } from 'tap';
import type { RecordLoad, RecordLoadOptions, RecordSource } from '../../src/index.js';
import { timeForAFault, until } from '../waiting/until.js';
import { idOf, LecternError, openTimetable, record } from './built.js';

/** A source whose next answer can be set; it records its requests. */
class ScriptedSource implements RecordSource {
  readonly name = 'the script';
  readonly asked: (string | null)[] = [];
  next: (options: RecordLoadOptions) => RecordLoad | Promise<RecordLoad>;
  watchers = 0;
  changed: () => void = () => {};

  constructor(next: ScriptedSource['next']) {
    this.next = next;
  }

  load(options: RecordLoadOptions): RecordLoad | Promise<RecordLoad> {
    this.asked.push(options.previous);
    return this.next(options);
  }

  watch(onChange: () => void): { close(): void } {
    this.watchers++;
    this.changed = onChange;
    return { close: () => void this.watchers-- };
  }
}

test('an unchanged version builds nothing', async (t) => {
  const source = new ScriptedSource(() => ({ records: [record(1)], version: 'v1' }));
  const timetable = openTimetable({ source });
  const { id } = await timetable.ready;
  const { view } = timetable;
  let published = 0;
  timetable.on('published', () => published++);

  source.next = () => ({ notModified: true });
  const confirmedMs = timetable.source.lastSuccessMs ?? 0;
  await until(Date.now, (seen) => seen > confirmedMs);
  await timetable.refresh();
  t.equal(timetable.view, view, 'the very same snapshot');
  t.ok((timetable.source.lastSuccessMs ?? 0) > confirmedMs, 'it was confirmed');

  source.next = () => ({ records: [record(1)], version: 'v2' });
  await timetable.refresh();
  t.equal(timetable.view, view, 'another version of the same content');
  t.equal(published, 0);

  source.next = () => ({ records: [record(1, { title: 'new' })], version: 'v3' });
  await timetable.refresh();
  t.equal(published, 1);
  t.not(timetable.summary?.id, id);

  await timetable.refresh({ force: true });
  t.strictSame(
    source.asked,
    [null, 'v1', 'v1', 'v2', null],
    'asked for what it gave last; by force for anything',
  );
  t.equal(timetable.source.name, 'the script');
  await timetable.close();
  t.equal(source.watchers, 0, 'the watch was closed');
});

test('a source that reports a change is loaded again', async (t) => {
  const source = new ScriptedSource(() => ({ records: [record(1)], version: null }));
  const timetable = openTimetable({ source });
  await timetable.ready;
  source.next = async () => ({ records: [record(1), record(2)], version: null });
  const published = new Promise((resolve) => timetable.on('published', resolve));
  source.changed();
  source.changed();
  await published;
  t.equal(timetable.all().total, 2);
  t.equal(source.asked.length, 2, 'told twice, asked once');
  await timetable.close();
});

test('a failing source keeps the served timetable, and the reason is reported', async (t) => {
  const source = new ScriptedSource(() => ({ records: [record(1)], version: 'v1' }));
  const timetable = openTimetable({ source });
  await timetable.ready;
  const errors: Error[] = [];
  const listener = (error: Error): void => void errors.push(error);
  timetable.on('error', listener);
  const failures: (() => RecordLoad | Promise<RecordLoad>)[] = [
    () => {
      throw new Error('the database is gone');
    },
    () => Promise.reject(new LecternError('source-unreadable', 'the database is gone')),
    () => ({
      records: (function* () {
        yield record(2);
        throw new Error('the database is gone');
      })(),
      version: 'v2',
    }),
  ];
  for (const next of failures) {
    source.next = next;
    await timetable.refresh();
    t.equal(timetable.status, 'degraded');
    t.match(timetable.source, { state: 'failed', lastError: /the database is gone/ });
    t.equal(timetable.find().total, 1, 'reads go on');
  }
  t.equal(errors.length, failures.length);
  timetable.off('error', listener);
  await timetable.refresh();
  t.equal(errors.length, failures.length, 'no listener is left, and nothing is thrown');

  source.next = () => ({ notModified: true });
  await timetable.refresh();
  t.match(timetable.source, { state: 'loaded', lastError: null });
  t.equal(timetable.status, 'ok');
  await timetable.close();
});

test('a malformed result is a failure, not an empty timetable', async (t) => {
  const source = new ScriptedSource(() => ({ records: [record(1)], version: 'v1' }));
  const timetable = openTimetable({ source });
  await timetable.ready;
  for (const answer of [undefined, null, {}, { records: 7, version: null }, { events: [] }]) {
    source.next = () => answer as unknown as RecordLoad;
    await timetable.refresh();
    t.match(timetable.source, { state: 'failed', lastError: /the script/ }, JSON.stringify(answer));
    t.equal(timetable.find().total, 1);
  }
  await timetable.close();
});

test('a refused snapshot is reported, and published by force', async (t) => {
  const source = new ScriptedSource(() => ({ records: [record(1), record(2)], version: 'v1' }));
  const timetable = openTimetable({ source });
  await timetable.ready;
  const refused: string[] = [];
  timetable.on('refused', ({ refusal, summary }) => refused.push(`${refusal.code} ${summary?.events}`));
  source.next = ({ previous }) =>
    previous === 'v2' ? { notModified: true } : { records: [record(1)], version: 'v2' };
  await timetable.refresh();
  t.strictSame(refused, ['shrunk 1']);
  t.match(timetable.source, { state: 'refused', lastError: /50\.0 %/ });
  await timetable.refresh();
  t.equal(timetable.source.state, 'refused', 'still the same, and not built again');
  t.equal(timetable.all().total, 2);
  await timetable.refresh({ force: true });
  t.equal(timetable.all().total, 1);
  t.equal(timetable.status, 'ok');
  t.equal(timetable.get(idOf(2)), null);
  await timetable.close();
});

test('a watch that fails to start fails the first load with its reason', async (t) => {
  const begin: readonly [watch: () => unknown, message: RegExp][] = [
    [
      () => {
        throw new Error('no connection for notices');
      },
      /no connection for notices/,
    ],
    [() => () => {}, /^watch\(\) of the script must return an object with a close\(\) function, or nothing$/],
    [() => Promise.reject(new Error('this error is not awaited')), /must return an object with a close\(\)/],
  ];
  for (const [watch, message] of begin) {
    const errors: string[] = [];
    const source = { name: 'the script', load: () => ({ records: [record(1)], version: null }), watch };
    const timetable = openTimetable({ source: source as unknown as RecordSource });
    timetable.on('error', (error) => errors.push(error.message));
    await t.rejects(timetable.ready, { message });
    t.match(timetable.source, { state: 'failed', lastError: message });
    t.throws(() => timetable.find(), { code: 'not-ready', message: /could not be loaded: / });
    await timetable.close();
    t.throws(() => timetable.find(), { code: 'closed' });
  }
  const none = { name: 'the script', load: () => ({ records: [record(1)], version: null }), watch() {} };
  const timetable = openTimetable({ source: none as unknown as RecordSource });
  await timetable.ready;
  await timetable.close();
});

test('a watch that fails to close is reported, and everything else closes', async (t) => {
  const fail = (): never => {
    throw new Error('cannot unsubscribe');
  };
  for (const close of [fail, async () => fail()]) {
    let signal: AbortSignal | null = null;
    let closes = 0;
    const source = new ScriptedSource(() => ({ records: [record(1)], version: null }));
    source.watch = () => ({
      close() {
        closes++;
        return close();
      },
    });
    const timetable = openTimetable({ source, refreshSeconds: 0.05 });
    const handler = timetable.handler();
    await timetable.ready;
    source.next = (options) => {
      signal = options.signal;
      return new Promise(() => {});
    };
    const given = await until<AbortSignal | null>(() => signal);
    await t.rejects(timetable.close(), { message: 'cannot unsubscribe' });
    t.ok(given?.aborted, 'the load was given up');
    t.equal(timetable.view, null, 'and the data let go of');
    t.throws(() => timetable.find(), { code: 'closed' });
    t.type(handler, 'function');
    const { length } = source.asked;
    await timeForAFault(120);
    t.equal(source.asked.length, length, 'no other load begins');
    await timetable.close();
    t.equal(closes, 1, 'a watch is closed once');
  }
});

test('nothing is published after close, not even by a load that is nearly finished', async (t) => {
  for (let delayMs = 0; delayMs < 40; delayMs += 4) {
    const source = new ScriptedSource(() => ({ records: [record(1)], version: null }));
    const timetable = openTimetable({ source });
    const events: string[] = [];
    timetable.on('published', () => events.push('published')).on('error', () => events.push('error'));
    // The end comes at different moments of the load.
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    events.length = 0;
    const closing = timetable.close();
    await closing;
    await timetable.ready.catch(() => {});
    t.strictSame(events, [], `closed after ${delayMs} ms`);
    t.equal(timetable.view, null);
  }
});
