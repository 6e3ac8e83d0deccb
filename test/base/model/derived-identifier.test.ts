import { test } from 'tap';
import { openHere } from '../../app/open-here.js';
import { derivedIdentifier } from '../../oracle/derived-identifier.js';

test('a derived identifier is a UUID of version 5, equal for equal texts of one field', async (t) => {
  const times = { time: '2026-09-14T08:00:00Z', endTime: '2026-09-14T09:00:00Z' };
  const texts = ['Hörsaal 1', 'Ho\u0308rsaal 1', 'hörsaal 1'];
  const source = texts.map((text, n) => ({
    id: `${n}`,
    ...times,
    roomId: text,
    courseId: text,
    title: text,
  }));
  const timetable = openHere({ source, identifiers: 'derived' });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const [room, decomposed, lower] = texts.map((_, n) => timetable.get(derivedIdentifier('id', `${n}`)));
  t.equal(room?.roomId, '1cdbcf12-b6a0-502f-b495-88d465f5b40f', "as Python's uuid.uuid5 makes it");
  t.equal(room?.roomId, derivedIdentifier('roomId', 'Hörsaal 1'));
  t.match(room?.roomId, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(decomposed?.roomId, room?.roomId, 'compared in NFC');
  t.not(room?.courseId, room?.roomId);
  t.not(lower?.roomId, room?.roomId);
});
