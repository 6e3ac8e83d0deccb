import { test } from 'tap';
import { suggest } from '../../../src/base/model/suggest.js';

const FIELDS = ['id', 'time', 'endTime', 'title', 'roomId', 'courseId', 'studyGroup', 'lecturer', 'type'];

test('the nearest name is suggested; swapped letters count as one edit', (t) => {
  for (const [typed, name] of [
    ['titel', 'title'],
    ['tmie', 'time'],
    ['TITLE', 'title'],
    ['romId', 'roomId'],
    ['lecutrer', 'lecturer'],
    ['endtimes', 'endTime'],
    ['colour', null],
    ['x', null],
    ['', null],
    ['y'.repeat(10_000), null],
  ] as const) {
    t.equal(suggest(typed, FIELDS), name, typed.slice(0, 20));
  }
  t.end();
});
