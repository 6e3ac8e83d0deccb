import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { LecternError, MemorySource, openTimetable, type TimetableEvent } from '../../src/index.js';
import { openHere } from './open-here.js';

const ROOM = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const record = (n: number, more: object = {}): object => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: `2024-09-0${n}T08:00:00Z`,
  endTime: `2024-09-0${n}T10:00:00Z`,
  ...more,
});

test('three lines of code read a timetable', async (t) => {
  const timetable = openTimetable({
    source: [record(2), record(1, { roomId: ROOM.toUpperCase(), type: 'LEC' })],
  });
  await timetable.ready;
  const { events, total, nextCursor } = timetable.find({ roomId: ROOM });

  const expected: TimetableEvent = {
    id: '00000000-0000-4000-8000-000000000001',
    time: '2024-09-01T08:00:00.000Z',
    endTime: '2024-09-01T10:00:00.000Z',
    title: null,
    roomId: ROOM,
    courseId: null,
    studyGroup: null,
    lecturer: null,
    type: 'LEC',
    groupId: null,
  };
  t.strictSame(events, [expected]);
  t.strictSame(Object.keys(events[0] ?? {}), Object.keys(expected), 'in the order of the specification');
  t.equal(total, 1);
  t.equal(nextCursor, null);
  t.strictSame(timetable.types(), ['LEC']);
  t.equal(timetable.all().total, 2);
  t.equal(timetable.status, 'ok');
  await timetable.close();
});

test('queries accept Dates, lists of values, and cursors', async (t) => {
  const timetable = openTimetable({
    source: [1, 2, 3, 4].map((n) => record(n, { type: n % 2 ? 'LEC' : 'LAB' })),
  });
  await timetable.ready;
  const since = timetable.find({ startTime: new Date('2024-09-02T09:00:00Z') });
  t.equal(since.total, 3);
  t.equal(timetable.find({ type: ['LEC', 'LAB'] }).total, 4);
  const first = timetable.find({ limit: 3 });
  t.equal(first.events.length, 3);
  t.equal(first.total, 4);
  const second = timetable.find({ limit: 3, cursor: first.nextCursor ?? '' });
  t.strictSame(
    second.events.map((event) => event.id),
    ['00000000-0000-4000-8000-000000000004'],
  );
  await timetable.close();
});

test('an invalid query throws all its faults', async (t) => {
  const timetable = openTimetable({ source: [record(1, { roomId: ROOM })] });
  await timetable.ready;
  const cases: [query: object, codes: string[]][] = [
    [{ roomId: [] }, ['empty-value']],
    [{ roomId: null }, ['empty-value']],
    [{ room: ROOM }, ['unknown-parameter']],
    [{ startTime: new Date(Number.NaN) }, ['malformed-time']],
    [{ startTime: '2024-02-30T00:00:00Z', limit: 0 }, ['malformed-time', 'malformed-limit']],
  ];
  for (const [query, codes] of cases) {
    try {
      timetable.find(query);
      t.fail(`${JSON.stringify(query)} was accepted`);
    } catch (error) {
      if (!(error instanceof LecternError)) throw error;
      t.equal(error.code, 'parameters-invalid');
      t.strictSame(
        error.faults.map((fault) => fault.code),
        codes,
      );
    }
  }
  t.equal(timetable.find({ roomId: ROOM }).total, 1);
  t.equal(timetable.find({ studyGroup: 'x' }).total, 0, 'no event has a studyGroup');
  await timetable.close();
});

test('a query with a value of a wrong type is refused, and never selects everything', async (t) => {
  for (const unknownParameters of ['reject', 'ignore'] as const) {
    const timetable = openHere({
      unknownParameters,
      source: [record(1, { roomId: ROOM, studyGroup: 'A', type: 'LEC' })],
    });
    await timetable.ready;
    const refused = (read: () => unknown, message: RegExp, codes: string[]): void => {
      try {
        read();
        t.fail(`${read} was accepted`);
      } catch (error) {
        if (!(error instanceof LecternError)) throw error;
        t.equal(error.code, 'parameters-invalid', String(read));
        t.match(error.message, message);
        t.notMatch(error.message, /\n|\[object/);
        const faults = error.faults.map(({ parameter, code }) => `${parameter} ${code}`);
        t.strictSame(faults, codes, error.message);
      }
    };
    const noQueries: [value: unknown, shown: string][] = [
      [5, 'number 5'],
      ['x', 'the text "x"'],
      [true, 'boolean true'],
      [null, 'null'],
      [[], 'a list'],
      [[{ studyGroup: 'A' }], 'a list'],
      [() => ({}), 'a function'],
      [new Map([['studyGroup', 'A']]), 'a Map'],
      [new URLSearchParams('studyGroup=A'), 'a URLSearchParams'],
      [new Date(0), 'a Date'],
      [Promise.resolve({}), 'a Promise'],
    ];
    for (const [value, shown] of noQueries) {
      for (const method of ['find', 'findBytes', 'all', 'conflicts', 'explain'] as const) {
        refused(
          () => timetable[method](value as object),
          new RegExp(`^${method}\\(\\) takes an object of parameters, .* not ${shown}$`),
          ['query unknown-value'],
        );
      }
    }
    const badValues: [query: object, message: RegExp, codes: string[]][] = [
      [
        { studyGroup: { a: 1 } },
        /^studyGroup must be a text or a list of texts, not an object$/,
        ['studyGroup malformed-text'],
      ],
      [{ studyGroup: 5 }, /not number 5$/, ['studyGroup malformed-text']],
      [
        { roomId: [ROOM, [ROOM], Symbol('x')] },
        /roomId must be .* not a list; roomId must be .* not symbol Symbol\(x\)$/,
        ['roomId malformed-text', 'roomId malformed-text'],
      ],
      [{ startTime: 0 }, /RFC 3339 text or a Date, not number 0/, ['startTime malformed-time']],
      [{ limit: true }, /a whole number, not boolean true/, ['limit malformed-limit']],
      [{ limit: Number.NaN }, /^limit: "NaN" is not a whole number/, ['limit malformed-limit']],
      [{ cursor: {} }, /^cursor must be a text/, ['cursor malformed-cursor']],
      [
        { studyGroup: {}, roomId: 'x', limit: 0, type: [] },
        /^studyGroup must .*; roomId: "x" is not .*; type has no value.*; limit: "0" is not/,
        [
          'studyGroup malformed-text',
          'roomId malformed-identifier',
          'type empty-value',
          'limit malformed-limit',
        ],
      ],
    ];
    for (const [query, message, codes] of badValues) {
      for (const method of ['find', 'findBytes', 'conflicts', 'explain'] as const) {
        // The cursors of conflicts differ, but their faults do not.
        refused(() => timetable[method](query), message, codes);
      }
    }
    refused(() => timetable.all({ limit: {} } as object), /^limit must be/, ['limit malformed-limit']);
    refused(
      () => timetable.conflicts({ by: 5, merge: 'no', limit: [] } as object),
      /^by must be .*; merge: "no" is not one of true, false/,
      ['by unknown-value', 'merge unknown-value', 'limit empty-value'],
    );
    for (const value of [undefined, null, 5, {}, ['a']]) {
      refused(() => timetable.get(value as string), /^get\(\) takes the id of an event as text, not /, [
        'id malformed-text',
      ]);
    }
    for (const value of [undefined, null, 5, ['a']]) {
      refused(
        () => timetable.changes(value as unknown as string),
        /^changes\(\) takes the id of a snapshot as text/,
        ['since malformed-text'],
      );
    }
    t.throws(() => timetable.changes({ sinse: 'x' } as object), { code: 'option-invalid' });
    const unknown = { room: { a: 1 } } as object;
    if (unknownParameters === 'ignore') t.equal(timetable.find(unknown).total, 1);
    else refused(() => timetable.find(unknown), /did you mean roomId/, ['room unknown-parameter']);
    await timetable.close();
  }
});

test('parameters accept texts, as from a framework, and a query may be an object of a class', async (t) => {
  const timetable = openHere({
    source: [record(1, { studyGroup: 'A' }), record(2, { studyGroup: 'B' })],
  });
  await timetable.ready;
  class Query {
    readonly studyGroup = 'A';
  }
  const withoutPrototype: object = Object.assign(Object.create(null), { studyGroup: 'A' });
  for (const query of [new Query(), withoutPrototype, { studyGroup: 'A', limit: undefined }]) {
    t.equal(timetable.find(query).total, 1);
  }
  const ofText = { limit: '1', startTime: '2024-09-01T00:00:00Z' } as object;
  t.equal(timetable.find(ofText).events.length, 1);
  t.strictSame(timetable.conflicts({ merge: 'false' } as object).conflicts, []);
  t.equal(timetable.find(undefined).total, 2);
  await timetable.close();
});

test('a timetable cannot be opened without options', (t) => {
  for (const options of [undefined, null, 5, 'events.ndjson', [], [record(1)]]) {
    t.throws(
      () => openTimetable(options as never),
      { name: 'LecternError', code: 'option-invalid', message: /takes an object of options, .*source/ },
      JSON.stringify(options),
    );
  }
  t.end();
});

test('options of replicas are refused for other sources, and options of reading for replicas', (t) => {
  for (const [options, message] of [
    [
      { publisherPublicKey: 'publisher.pub' },
      /^publisherPublicKey has no effect, as the source is not a store/,
    ],
  ] as const) {
    for (const source of ['events.ndjson', [record(1)]])
      t.throws(() => openTimetable({ source, ...options }), { code: 'option-invalid', message });
  }
  for (const options of [
    { fieldMap: { title: 'x' } },
    { dateOrder: 'dmy' },
    { calendarTo: '2027-01-01' },
  ] as const) {
    const [name] = Object.keys(options);
    const message = new RegExp(
      `^${name} has no effect with a store as the source: its publisher reads the records$`,
    );
    t.throws(() => openTimetable({ source: 'folder:///store', unsigned: true, ...options }), {
      code: 'option-invalid',
      message,
    });
  }
  for (const source of ['folder://nope', 'nats://127.0.0.1/'])
    t.throws(() => openTimetable({ source, unsigned: true }), {
      code: 'option-invalid',
      message: /expected (folder|nats):\/\//,
    });
  t.end();
});

test('a handler with a misspelt option is refused instead of letting every request in', async (t) => {
  const timetable = openHere({ source: [record(1)] });
  const hs256Secret = 'a secret of the tests, 32 bytes or more';
  const cases: [options: unknown, message: RegExp][] = [
    [
      null,
      /^handler\(\) takes an object of options: streamsMax, basePath, compression, identify, auth, feed, publicUrl, log$/,
    ],
    [5, /^handler\(\) takes an object/],
    [{ atuh: { hs256Secret } }, /^handler\(\) has no option "atuh": did you mean auth\?/],
    [{ auth: { hs256Secret, isuer: 'x' } }, /^auth has no option "isuer": did you mean issuer\?/],
    [{ auth: null }, /^auth is invalid: it must be an object of options/],
  ];
  for (const [options, message] of cases) {
    t.throws(
      () => timetable.handler(options as never),
      { name: 'LecternError', code: 'option-invalid', message },
      JSON.stringify(options),
    );
  }
  for (const options of [undefined, {}, { auth: { hs256Secret, issuer: undefined } }]) {
    t.type(timetable.handler(options), 'function');
  }
  await timetable.close();
});

test('an error of onProgress fails the first load', async (t) => {
  const mistake = new Error('a mistake in the program');
  const timetable = openTimetable({
    source: fileURLToPath(new URL('../../fixtures/demo.ndjson.gz', import.meta.url)),
    onProgress() {
      throw mistake;
    },
  });
  const errors: Error[] = [];
  timetable.on('error', (error) => errors.push(error));
  t.equal(await timetable.ready.catch((error: unknown) => error), mistake);
  t.strictSame(errors, [mistake]);
  t.throws(() => timetable.find(), { code: 'not-ready', message: /a mistake in the program$/ });
  await timetable.close();
});

test("changes of records with identifiers: 'any' treat a whole number as its digits", async (t) => {
  const memory = new MemorySource([record(1, { id: 7 }), record(2, { id: '8' })]);
  const timetable = openHere({ source: memory, identifiers: 'any', watch: false });
  await timetable.ready;
  memory.apply({ upsert: [record(1, { id: '7', title: 'text' }), record(3, { id: 9 })], remove: [8] });
  await timetable.refresh();
  t.same(
    timetable
      .all()
      .events.map(({ id, title }) => [id, title])
      .toSorted(),
    [
      ['7', 'text'],
      ['9', null],
    ],
  );
  for (const id of [1.5, 2 ** 53, true, null]) {
    t.throws(() => memory.apply({ upsert: [record(1, { id })] }), { code: 'option-invalid' }, String(id));
  }
  await timetable.close();
});

test('a listener that throws or rejects stops neither a refresh nor another listener', async (t) => {
  const memory = new MemorySource([record(1)]);
  const timetable = openHere({ source: memory, watch: false });
  const errors: Error[] = [];
  const heard: (number | undefined)[] = [];
  const mistake = new Error('a mistake');
  const failing = (): never => {
    throw mistake;
  };
  const hear = ({ changes }: { readonly changes: { readonly added: number } | null }): void =>
    void heard.push(changes?.added);
  timetable
    .on('published', failing)
    .on('published', async () => {
      throw new Error('a later mistake');
    })
    .on('published', hear)
    .on('published', hear)
    .on('error', (error) => void errors.push(error));
  await timetable.ready;
  memory.apply({ upsert: [record(2)] });
  await timetable.refresh();
  t.equal(timetable.all().total, 2);
  t.equal(timetable.status, 'ok', 'the load itself did not fail');
  t.equal(timetable.source.lastError, null);
  t.strictSame(heard, [undefined, undefined, 1, 1], 'once for each time that it was added');
  const told = ['a mistake', 'a later mistake'].map((text) => `a listener of 'published' threw: ${text}`);
  t.strictSame(
    errors.map(({ message }) => message),
    [...told, ...told],
  );
  t.equal(errors[0]?.cause, mistake);
  timetable.off('published', failing).off('published', hear).off('published', failing);
  memory.apply({ upsert: [record(3)] });
  await timetable.refresh();
  t.equal(heard.length, 5, 'one of the two is left');
  t.equal(errors.length, 5);
  // A mistake of an error listener becomes a process warning.
  const warned = once(process, 'warning');
  timetable.on('error', failing);
  memory.apply({ upsert: [record(4)] });
  await timetable.refresh();
  const [warning] = (await warned) as [Error & { detail?: string }];
  t.match(warning, { name: 'LecternWarning', message: "a listener of 'error' threw: a mistake" });
  t.match(warning.detail, /timetable\.test/, 'with the place');
  await timetable.close();
});

test('without an error listener, the mistake of a listener becomes a process warning', async (t) => {
  const timetable = openHere({ source: [record(1)] });
  const warned = once(process, 'warning');
  timetable.on('published', () => {
    throw new Error('a mistake');
  });
  const [warning] = (await warned) as [Error];
  t.match(warning, { name: 'LecternWarning', message: "a listener of 'published' threw: a mistake" });
  await timetable.close();
});

test('a listener for an unknown event is refused', async (t) => {
  const timetable = openHere({ source: [record(1)] });
  t.throws(() => timetable.on('publishd' as 'published', () => {}), {
    code: 'option-invalid',
    message:
      "there is no event 'publishd'; expected one of 'published', 'refused', 'part', 'loaded', 'warning', 'error'",
  });
  await timetable.close();
});

test('reads before the first snapshot, after a failure and after close throw the reason', async (t) => {
  const loading = openHere({ source: [record(1)] });
  t.throws(() => loading.find(), { code: 'not-ready' });
  t.equal(loading.status, 'starting');
  await loading.ready;
  await loading.close();
  t.throws(() => loading.find(), { code: 'closed' });

  const failing = openTimetable({ source: 'no/such/file.ndjson' });
  await t.rejects(failing.ready, { code: 'source-unreadable' });
  t.throws(() => failing.find(), { code: 'not-ready', message: /no\/such\/file\.ndjson/ });
  t.equal(failing.source.state, 'failed');
  await failing.close();
});

test('bad records are left out and counted; good ones are served', async (t) => {
  const timetable = openTimetable({
    source: [record(1), { id: 'x' }, record(1, { title: 'the second of one id' }), record(2), 7],
  });
  const summary = await timetable.ready;
  t.equal(summary.events, 2);
  t.equal(summary.rejected, 3);
  t.strictSame(
    summary.rejections.map(({ position, code }) => [position.record, code]),
    [
      [2, 'malformed-identifier'],
      [3, 'duplicate-id'],
      [5, 'malformed-record'],
    ],
  );
  t.equal(timetable.all().events[0]?.title, null, 'the first record of an id stays');
  await timetable.close();
});

test('several timetables in one process are independent', async (t) => {
  const one = openHere({ source: [record(1)] });
  const two = openHere({ source: [record(1), record(2)] });
  await Promise.all([one.ready, two.ready]);
  t.equal(one.all().total, 1);
  t.equal(two.all().total, 2);
  await one.close();
  t.equal(two.all().total, 2);
  await two.close();
});
