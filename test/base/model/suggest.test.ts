import { test } from 'tap';
import { openTimetable } from '../../../src/index.js';

test('the nearest name is suggested; swapped letters count as one edit', (t) => {
  for (const [typed, name] of [
    ['rosom', 'rooms'],
    ['sourec', 'source'],
    ['SOURCES', 'source'],
    ['fieldsMap', 'fieldMap'],
    ['timezone', 'timeZone'],
    ['refresSecodns', 'refreshSeconds'],
    ['colour', null],
    ['x', null],
    ['', null],
    ['y'.repeat(10_000), null],
  ] as const) {
    const message = name === null ? /: its options are / : new RegExp(`: did you mean ${name}\\?$`);
    t.throws(() => openTimetable({ [typed]: 1 }), { code: 'option-invalid', message }, typed.slice(0, 20));
  }
  t.end();
});
