/** Followed rows that give lessons by weekday and weeks: each change of a row reaches all of its events. */
import { type Test, test } from 'tap';
import type { SourceDescription, Timetable } from '../../../src/index.js';
import { openHere } from '../../app/open-here.js';
import { until } from '../../waiting/until.js';
import { skip, startServer, type TestServer } from './server.js';

const TERM = { firstDay: '2026-09-28', weeks: 4, except: ['2026-10-14'] };
const WHEN = { day: 'day', start: 'start', end: 'until', weeks: 'weeks' };

const TABLES = `
CREATE TABLE places (nr int PRIMARY KEY, name text);
CREATE TABLE plans (nr int PRIMARY KEY, day text, start text, until text, weeks text, subject text, teams text[], place int);
INSERT INTO places VALUES (1, 'Hall'), (2, 'Lab');
INSERT INTO plans VALUES
  (1, 'Mon', '09:00', '10:30', '1-3', 'Algebra', '{A,B}', 1),
  (2, 'Wed', '09:00', '10:30', NULL, 'Physics', '{C}', 2);
CREATE PUBLICATION lectern FOR TABLE plans, places;`;

const FIELDS = { id: 'nr', title: 'subject', studyGroup: 'teams' };
const JOINED = `SELECT p.nr, p.day, p.start, p.until, p.weeks, p.subject || ' in ' || coalesce(r.name, '?') AS subject, p.teams
  FROM plans p LEFT JOIN places r ON r.nr = p.place`;

function open(t: Test, source: SourceDescription): Timetable {
  const timetable = openHere({
    timetable: {
      timeZone: 'Europe/London',
      identifiers: 'derived',
      terms: { autumn: TERM },
      sources: [source],
    },
    gate: false,
  });
  t.teardown(() => timetable.close());
  return timetable;
}

/** Titles and groups, with the local day and time of each event. */
const shown = (timetable: Timetable): string[] =>
  timetable
    .find({ limit: 100 })
    .events.map(({ title, studyGroup, time }) => `${time.slice(5, 16)} ${title} ${studyGroup}`);

/** Makes a change, and waits until the followed timetable equals a load of all rows. Returns what it serves. */
async function after(
  t: Test,
  server: TestServer,
  followed: Timetable,
  source: SourceDescription,
  sql: string,
) {
  await server.sql(sql);
  const whole = open(t, source);
  const { id, rejectedByCode } = await whole.ready;
  await until(() => followed.summary?.id === id);
  t.strictSame(followed.summary?.rejectedByCode, rejectedByCode, `rejections after ${sql}`);
  await whole.close();
  return shown(followed);
}

test('a followed row of a weekly pattern is followed with all of its events', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(TABLES);
  for (const rows of [{ table: 'plans' }, { query: JOINED }]) {
    const isJoined = 'query' in rows;
    const source = { from: server.url(), ...rows, fields: FIELDS, when: WHEN };
    const followed = open(t, { ...source, follow: true });
    await followed.ready;
    t.strictSame(followed.source.followed?.wholeReads, []);
    const algebra = (days: readonly string[], hour: string): string[] =>
      days.flatMap((day) =>
        ['A', 'B'].map((group) => `${day}T${hour} Algebra${isJoined ? ' in Hall' : ''} ${group}`),
      );
    const lab = (days: readonly string[], title: string): string[] =>
      days.map((day) => `${day}T08:00 ${title}${isJoined ? ' in Lab' : ''} C`);
    const mondays = algebra(['09-28', '10-05', '10-12'], '08:00');
    t.strictSame(shown(followed).sort(), [...mondays, ...lab(['09-30', '10-07', '10-21'], 'Physics')].sort());
    const check = async (sql: string, ...expected: readonly string[]): Promise<void> => {
      t.strictSame((await after(t, server, followed, source, sql)).sort(), [...expected].sort(), sql);
    };
    const optics = lab(['09-30', '10-21'], 'Optics');
    await check(`UPDATE plans SET subject = 'Optics', weeks = '1, 4' WHERE nr = 2`, ...mondays, ...optics);
    const tuesdays = algebra(['09-29', '10-06', '10-13'], '09:00');
    await check(
      `UPDATE plans SET nr = 9, day = 'Tue', start = '10:00', until = '11:30' WHERE nr = 1`,
      ...tuesdays,
      ...optics,
    );
    if (isJoined) {
      const renamed = optics.map((line) => line.replace('Lab', 'Attic'));
      await check(`UPDATE places SET name = 'Attic' WHERE nr = 2`, ...tuesdays, ...renamed);
      await check('DELETE FROM plans WHERE nr = 9', ...renamed);
    } else {
      await check(`UPDATE plans SET day = 'Funday' WHERE nr = 9`, ...optics);
      await check(
        `UPDATE plans SET nr = 1, day = 'Mon', start = '09:00', until = '10:30' WHERE nr = 9; UPDATE plans SET subject = 'Physics', weeks = NULL WHERE nr = 2`,
        ...mondays,
        ...lab(['09-30', '10-07', '10-21'], 'Physics'),
      );
    }
    await followed.close();
  }
});
