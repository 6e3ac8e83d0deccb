import { test } from 'tap';
import type { View } from '../../src/answer/view.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { bearer, EVENTS, serve, setUp, viewsOf } from '../http/harness.js';
import { viewOfEvents } from './reading.js';

/** The same events under another title, and one more with another type and another clash, so that every answer differs. */
const OTHERS: readonly NormalisedEvent[] = [
  ...EVENTS.map((event) => ({ ...event, title: 'other', type: 'Other' })),
  {
    ...(EVENTS[0] as NormalisedEvent),
    id: '00000000-0000-4000-8000-00000000ffff',
    title: 'other',
    type: 'Other',
  },
];

const PATHS = [
  '/schedule',
  '/schedule?type=Other&type=Lab&type=Lecture',
  '/schedule?limit=3',
  '/schedule?format=msgpack',
  '/schedule/all',
  '/schedule/types',
  '/schedule/conflicts',
  '/schedule/personal',
];

test('a request sees one snapshot, even if another is published at every read', async (t) => {
  const views = [viewOfEvents(EVENTS, 'uuid'), viewOfEvents(OTHERS, 'uuid')] as const;
  const expected = new Map<string, string>();
  let looks = 0;
  const swapping = {
    ...viewsOf(),
    // The present view changes between any two reads of it, as if each were a publication.
    get view(): View {
      return views[looks++ % 2] as View;
    },
  };
  const client = await serve(t, setUp({ views: swapping }).handler);
  for (const path of PATHS) {
    for (const round of [0, 1, 2, 3]) {
      const { status, headers, body } = await client.send(`/api/v1${path}`, {
        headers: bearer({ studyGroup: 'A' }),
      });
      t.equal(status, 200);
      const tag = String(headers.etag);
      const whole = JSON.stringify([headers['x-total-count'], headers.link, body.toString('base64')]);
      t.equal(expected.get(tag) ?? whole, whole, `${path}, round ${round}: one tag, one answer`);
      expected.set(tag, whole);
      const [served] = views.filter((view) => tag.includes(view.summary.id));
      t.ok(served, 'the tag is that of one of the snapshots');
      t.equal(body.includes('other') || body.includes('Other'), served === views[1], 'and so is the body');
    }
  }
  t.equal(looks, PATHS.length * 4, 'each request looked once');
  t.equal(expected.size, PATHS.length * 2, 'both snapshots were served for each path');
});
