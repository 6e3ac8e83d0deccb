import { test } from 'tap';
import type { IdentifierMode } from '../../src/base/model/event.js';
import { createNormaliser, isRejection } from './objects.js';

test("a rejection has its record's id, in canonical form if it is valid", async (t) => {
  const idIn = (value: unknown, mode: IdentifierMode = 'uuid'): string | undefined => {
    const result = createNormaliser(mode)(value, { record: 1 });
    return isRejection(result) ? result.id : 'no rejection';
  };
  t.equal(idIn({ id: '2C3C9BFD-5DA4-5A45-8BDB-5C0FE7902417' }), '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417');
  t.equal(idIn({ id: 'event-1' }), 'event-1');
  t.equal(idIn({ id: 17 }), '17');
  t.equal(idIn({ id: 17 }, 'any'), '17');
  t.equal(idIn({ id: 'x'.repeat(65) }), undefined, 'too long to be kept');
  for (const value of [
    {},
    { id: null },
    { id: '' },
    { id: 7.5 },
    { id: {} },
    Object.create({ id: 'a' }),
    'a',
    null,
  ]) {
    t.equal(idIn(value), undefined);
  }
});
