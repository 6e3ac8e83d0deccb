import { test } from 'tap';
import { derivedIdentifier } from '../../../src/base/model/derived-identifier.js';

test('a derived identifier is a UUID of version 5, equal for equal texts of one field', (t) => {
  const room = derivedIdentifier('roomId', 'Hörsaal 1');
  t.match(room, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(room, '1cdbcf12-b6a0-502f-b495-88d465f5b40f', "as Python's uuid.uuid5 makes it");
  t.equal(derivedIdentifier('roomId', 'Ho\u0308rsaal 1'), room, 'compared in NFC');
  t.not(derivedIdentifier('courseId', 'Hörsaal 1'), room);
  t.not(derivedIdentifier('roomId', 'hörsaal 1'), room);
  t.end();
});
