import { test } from 'tap';
import type { IdentifierMode } from '../../src/base/model/event.js';
import { createNormaliser } from './objects.js';

const IDENTIFIERS = ['id', 'roomId', 'courseId', 'groupId', 'lecturerId'];
/** The number of a lesson becomes a text, and a time of change that cannot be read is none. */
const OTHERS = [
  ...['time', 'endTime', 'title', 'studyGroup', 'lecturer', 'type'],
  ...['roomName', 'courseName', 'groupName'],
];
const MINIMAL = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T09:30:00Z',
};

function run(value: unknown, mode: IdentifierMode = 'uuid'): object {
  return createNormaliser(mode)(value, { record: 1 });
}

test("with identifiers: 'any' a whole number counts as its digits, in identifiers only", async (t) => {
  const taken: readonly [written: string, digits: string][] = [
    ['0', '0'],
    ['-0', '0'],
    ['17', '17'],
    ['-17', '-17'],
    ['1.0', '1'],
    ['1e3', '1000'],
    ['9007199254740991', '9007199254740991'],
    ['-9007199254740991', '-9007199254740991'],
  ];
  for (const name of IDENTIFIERS) {
    for (const [written, digits] of taken) {
      const record: unknown = JSON.parse(JSON.stringify({ ...MINIMAL, [name]: 'x' }).replace('"x"', written));
      t.match(run(record, 'any'), { [name]: digits }, `${name} ${written}`);
      t.match(run(record), { code: 'wrong-type', field: name }, `${name} ${written} is no UUID`);
    }
    for (const integer of [17n, 2n ** 53n + 1n, 2n ** 64n - 1n, -(2n ** 63n)]) {
      t.match(
        run({ ...MINIMAL, [name]: integer }, 'any'),
        { [name]: String(integer) },
        `${name} ${integer}n`,
      );
    }
    for (const value of [0.5, 2 ** 53, -(2 ** 53), 1e21, Number.NaN, 2n ** 64n, true, false, { a: 1 }]) {
      t.match(
        run({ ...MINIMAL, [name]: value }, 'any'),
        { code: 'wrong-type', field: name },
        `${name} ${value}`,
      );
    }
  }
  for (const name of OTHERS) {
    t.match(run({ ...MINIMAL, [name]: 17 }, 'any'), { code: 'wrong-type', field: name }, name);
  }
});
