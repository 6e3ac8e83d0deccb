import { test } from 'tap';
import type { ScheduleQuery, Timetable } from '../../src/index.js';
import { openHere } from '../app/open-here.js';

/**
 * Plans are text, and tests check this text: not only the returned rows, but also the index used.
 *
 * 100 events, one an hour from 2024-09-02T00:00Z, each two hours long, so that every event overlaps the next.
 * Two rooms alternate, ten courses alternate, and one event has the type EXAM.
 */
const HOUR_MS = 3_600_000;
const BEGIN_MS = Date.parse('2024-09-02T00:00:00Z');
const at = (hour: number): string => new Date(BEGIN_MS + hour * HOUR_MS).toISOString();

const records = Array.from({ length: 100 }, (_, i) => ({
  id: `event-${String(i).padStart(3, '0')}`,
  time: at(i),
  endTime: at(i + 2),
  roomId: `room-${i % 2}`,
  courseId: `course-${i % 10}`,
  type: i === 42 ? 'EXAM' : 'LEC',
}));

async function timetable(): Promise<Timetable> {
  const opened = openHere({ source: records, identifiers: 'any' });
  await opened.ready;
  return opened;
}

test('the plan names the leading index, the events of the window and the checks per event', async (t) => {
  const cases: [why: string, query: ScheduleQuery, plan: string[], total: number][] = [
    ['no parameters: everything', {}, ['LEAD all events: 100 candidates'], 100],
    ['one filter: its posting list', { roomId: 'room-1' }, ['LEAD roomId of 1 value: 50 postings'], 50],
    [
      'two filters: the shorter posting list leads, the other is looked up per event',
      { roomId: 'room-1', courseId: 'course-3' },
      ['LEAD courseId of 1 value: 10 postings', 'CHECK roomId of 1 value per event (50 postings not walked)'],
      10,
    ],
    [
      'the rarest value of any field leads',
      { roomId: 'room-0', courseId: 'course-2', type: 'EXAM' },
      [
        'LEAD type of 1 value: 1 posting',
        'CHECK courseId of 1 value per event (10 postings not walked)',
        'CHECK roomId of 1 value per event (50 postings not walked)',
      ],
      1,
    ],
    [
      'several values of one filter are a union; unknown ones are told',
      { courseId: ['course-1', 'course-2', 'course-99'] },
      ['LEAD courseId of 3 values, 2 known: 20 postings'],
      20,
    ],
    [
      'a window alone: the slots that start in it and the slot still running, as one run',
      { startTime: at(10), endTime: at(12) },
      [
        `WINDOW [${at(10)}, ${at(12)}): 1 run of ordinals, 3 events, 1 slot running at its start`,
        'LEAD window: 3 candidates',
      ],
      3,
    ],
    [
      'a long window and a filter: the posting list leads, narrowed by the runs',
      { startTime: at(10), courseId: 'course-3' },
      [
        `WINDOW [${at(10)}, ∞): 1 run of ordinals, 91 events, 1 slot running at its start`,
        'LEAD courseId of 1 value: 10 postings, narrowed by the window',
      ],
      9,
    ],
    [
      'a short window and a filter: the posting list still leads, since its part in the window is two searches away',
      { startTime: at(10), endTime: at(12), roomId: 'room-1' },
      [
        `WINDOW [${at(10)}, ${at(12)}): 1 run of ordinals, 3 events, 1 slot running at its start`,
        'LEAD roomId of 1 value: 50 postings, narrowed by the window',
      ],
      2,
    ],
    [
      'a short window and a filter of many values: the window leads',
      { startTime: at(10), endTime: at(12), courseId: records.slice(0, 10).map(({ courseId }) => courseId) },
      [
        `WINDOW [${at(10)}, ${at(12)}): 1 run of ordinals, 3 events, 1 slot running at its start`,
        'LEAD window: 3 candidates',
        'CHECK courseId of 10 values per event (100 postings not walked)',
      ],
      3,
    ],
    [
      'only an end: no tree is asked',
      { endTime: at(1) },
      [
        `WINDOW [-∞, ${at(1)}): 1 run of ordinals, 1 event, 0 slots running at its start`,
        'LEAD window: 1 candidate',
      ],
      1,
    ],
    ['a value that nothing has', { type: 'SEM' }, ['LEAD nothing can match'], 0],
    [
      'a window after everything',
      { startTime: at(200) },
      [
        `WINDOW [${at(200)}, ∞): 0 runs of ordinals, 0 events, 0 slots running at its start`,
        'LEAD nothing can match',
      ],
      0,
    ],
  ];
  const opened = await timetable();
  for (const [why, query, plan, total] of cases) {
    const explanation = opened.explain(query);
    t.equal(explanation.plan, plan.join('\n'), why);
    t.equal(explanation.total, total, `${why}: total`);
    t.equal(opened.find(query).total, total, `${why}: find agrees`);
  }
  await opened.close();
});

test('slots that do not touch stay separate runs', async (t) => {
  const opened = openHere({
    identifiers: 'any',

    source: [
      { id: 'a', time: at(0), endTime: at(9) },
      { id: 'b', time: at(1), endTime: at(2) },
      { id: 'c', time: at(2), endTime: at(9) },
      { id: 'd', time: at(5), endTime: at(6) },
    ],
  });
  await opened.ready;
  const { plan } = opened.explain({ startTime: at(4), endTime: at(5) });
  t.match(plan, '2 runs of ordinals, 2 events, 2 slots running at its start');
  await opened.close();
});
