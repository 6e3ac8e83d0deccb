/**
 * /schedule/changes over HTTP: facts known before the body is made. Inside for histories of thousands of
 * events, made without loads.
 */
import { test } from 'tap';
import { SnapshotView, type View } from '../../src/answer/view.js';
import { BODY_WHOLE_BYTES_MAX, SNAPSHOT_DELTA_ENTRIES_MAX } from '../../src/base/limits.js';
import { compare } from '../../src/change/compare.js';
import { extendHistory } from '../../src/change/history.js';
import { snapshotOfEvents } from '../answer/reading.js';
import { eventOf } from '../snapshot/images.js';
import { bearer, serve, setUp, type TestViews, viewsOf } from './harness.js';

/** A view with the given number of changed events, and the id of the previous snapshot. */
function changedView(count: number): { readonly views: TestViews; readonly since: string; made: number } {
  const events = Array.from({ length: 2000 }, (_, n) => eventOf(n));
  const before = snapshotOfEvents(events, 'uuid');
  const present = snapshotOfEvents(
    events.map((event, n) => (n < count ? { ...event, title: 'changed' } : event)),
    'uuid',
  );
  const change = compare(before, present, SNAPSHOT_DELTA_ENTRIES_MAX);
  const view = new SnapshotView(present, extendHistory([], [change], present).differences);
  const counter = { views: viewsOf(), since: before.summary.id, made: 0 };
  /** Counts how often chunks of a body are made. */
  const changes: View['changes'] = (pairs, options) => {
    const result = view.changes(pairs, options);
    if (!('read' in result)) return result;
    const { read } = result;
    return {
      read: {
        format: read.format,
        isRelative: read.isRelative,
        modifiedMs: read.modifiedMs,
        entityTag: (format) => read.entityTag(format),
        execute(format) {
          const answer = read.execute(format);
          const { body } = answer;
          const counted: typeof body = {
            byteLength: body.byteLength,
            ...(body.write === undefined
              ? {}
              : {
                  write(target, offset) {
                    counter.made++;
                    body.write?.(target, offset);
                  },
                }),
            makeChunks() {
              counter.made++;
              return body.makeChunks();
            },
          };
          return { ...answer, body: counted };
        },
      },
    };
  };
  counter.views.view = Object.assign(Object.create(view), { changes, summary: view.summary });
  return counter;
}

const KINDS = [
  ['nothing', 0],
  ['a few events', 7],
  ['an answer made whole', 700],
  ['an answer made in slices', 2000],
] as const;
for (const [name, count] of KINDS) {
  for (const format of ['json', 'msgpack']) {
    test(`HEAD, 304 and 406 of ${name} as ${format} make no body`, async (t) => {
      const changed = changedView(count);
      const { send } = await serve(t, setUp({ views: changed.views }).handler);
      const path = `/api/v1/schedule/changes?since=${changed.since}`;
      const accept = `application/${format}`;
      const head = await send(path, { method: 'HEAD', headers: { ...bearer(), Accept: accept } });
      t.equal(head.status, 200);
      t.equal(head.body.length, 0);
      const etag = String(head.headers.etag);
      const headers = { ...bearer(), Accept: accept, 'If-None-Match': etag };
      t.equal((await send(path, { headers })).status, 304);
      t.equal((await send(path, { headers: { ...bearer(), Accept: 'image/png' } })).status, 406);
      t.equal(changed.made, 0, 'nothing was made');
      const whole = await send(path, { headers: { ...bearer(), Accept: accept } });
      t.equal(whole.status, 200);
      t.ok(changed.made > 0);
      const told = ['content-length', 'x-total-count', 'etag', 'content-type'];
      for (const field of told) t.equal(head.headers[field], whole.headers[field], field);
      t.equal(whole.headers['content-length'], String(whole.body.length));
      t.equal(whole.headers['x-total-count'], String(count));
      if (count === 2000) t.ok(whole.body.length > BODY_WHOLE_BYTES_MAX);
    });
  }
}

test('406 comes before 410', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const path = `/api/v1/schedule/changes?since=${'x'.repeat(22)}`;
  const headers = { ...bearer(), Accept: 'image/png' };
  t.equal((await send(path, { headers })).status, 406);
  t.equal((await send(`${path}&format=json`, { headers })).status, 410);
  t.equal((await send(path, { headers: bearer() })).status, 410);
});
