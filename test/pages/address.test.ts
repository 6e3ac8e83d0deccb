/** The address of a view says all of it, and nothing in it can break a view. */
import fc from 'fast-check';
import { test } from 'tap';
import { type Address, readAddress, TARGETS_MAX, VIEWS, writeAddress } from '../../pages/address.js';

const EMPTY: Address = { view: 'week', of: [], date: null, zone: null, not: [], open: null, more: {} };
const text = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' });
const address: fc.Arbitrary<Address> = fc.record({
  view: fc.constantFrom(...VIEWS),
  of: fc.uniqueArray(fc.record({ kind: fc.constantFrom('room', 'group', 'lecturer', 'course'), id: text }), {
    maxLength: TARGETS_MAX,
    selector: (target) => JSON.stringify(target),
  }) as fc.Arbitrary<Address['of']>,
  date: fc.constantFrom(null, '2026-10-05', '2028-02-29'),
  zone: fc.constantFrom(null, 'Europe/Berlin', 'UTC'),
  not: fc.uniqueArray(fc.record({ field: fc.constantFrom('course', 'type', 'group'), value: text }), {
    maxLength: 5,
    selector: (each) => JSON.stringify(each),
  }) as fc.Arbitrary<Address['not']>,
  open: fc.option(text),
  more: fc.constantFrom({}, { building: 'A & B', seats: '30' }),
});

test('an address that was written is read as it was', (t) => {
  fc.assert(
    fc.property(address, (given) => {
      t.same(readAddress(writeAddress(given)), given);
    }),
    { seed: 36, numRuns: 200 },
  );
  t.same(readAddress(''), EMPTY);
  t.equal(writeAddress(EMPTY), '');
  t.end();
});

test('an address is short and readable', (t) => {
  const of = [{ kind: 'room', id: 'r-1' } as const, { kind: 'me', id: '' } as const];
  t.equal(writeAddress({ ...EMPTY, of, zone: 'Europe/Kyiv' }), '?of=room:r-1&of=me&zone=Europe/Kyiv');
  t.end();
});

test('what cannot be understood is left out', (t) => {
  const search = '?view=none&of=room:&of=what:1&of=group&date=2026-02-30&not=type&not=room:1&zone=&seats=';
  t.same(readAddress(search), EMPTY);
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (search) => readAddress(search).of.length <= TARGETS_MAX),
    { seed: 36, numRuns: 300 },
  );
  t.equal(readAddress('?of=me&of=me').of.length, 1, 'once each');
  t.end();
});
