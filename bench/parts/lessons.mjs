/** Lessons of three groups each, against a row for each group. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { answerOf } from '../answers.mjs';
import { rowOf } from '../rows.mjs';
import { SECRET } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { randomFrom, tokenOf } from '../workloads.mjs';

const GROUPS = 3;
const WEEK_MS = 7 * 86_400_000;
/** Requests whose answers must have equally many events. */
const CHECKED = 50;
const COST_RATIO_MAX = 1.1;
const MEMORY_RATIO_MAX = 1;
/** Records have ids of their own beside those of the rows that they become. */
const OPTIONS = { identifiers: 'derived' };

/** Both files, and the groups. */
function filesOf(source) {
  const events = readEvents(source).filter(({ studyGroup }) => (studyGroup ?? null) !== null);
  const groups = [...new Set(events.map(({ studyGroup }) => studyGroup))];
  const place = new Map(groups.map((group, n) => [group, n]));
  const lessons = [];
  const rows = [];
  for (const { groupId: _, ...event } of events) {
    const first = place.get(event.studyGroup);
    const own = Array.from({ length: GROUPS }, (_, n) => groups[(first + n) % groups.length]);
    lessons.push(JSON.stringify({ ...event, studyGroup: own }));
    for (const group of own) {
      rows.push(
        JSON.stringify({ ...event, id: `${event.id} ${group}`, studyGroup: group, lessonId: event.id }),
      );
    }
  }
  const [lessonFile, rowFile] = ['lessons', 'rows'].map((name) => join(dirname(source), `${name}.ndjson`));
  writeFileSync(lessonFile, lessons.join('\n'));
  writeFileSync(rowFile, rows.join('\n'));
  return {
    lessonFile,
    rowFile,
    groups,
    count: lessons.length,
    times: events.map(({ time }) => Date.parse(time)),
  };
}

/** @param {import('../session.mjs').Session} session @param {string} source */
export async function measureLessons(session, source) {
  const { lessonFile, rowFile, groups, count, times } = filesOf(source);
  const { requests: amount, connections, seed } = session.settings;
  const random = randomFrom(seed);
  const headers = { authorization: `Bearer ${tokenOf(SECRET, { sub: 'bench' })}` };
  const requests = Array.from({ length: amount }, () => {
    const group = encodeURIComponent(groups[Math.floor(random() * groups.length)]);
    const startMs = times[0] + Math.floor(random() * (times.at(-1) - times[0]));
    const [start, end] = [startMs, startMs + WEEK_MS].map((ms) => new Date(ms).toISOString());
    return { path: `/api/v1/schedule?studyGroup=${group}&startTime=${start}&endTime=${end}`, headers };
  });
  const as = 'weeks of groups';
  await session.give(as, requests);
  const rowServer = await session.startLectern(rowFile, OPTIONS);
  const rowUsage = await session.usageAtRest(rowServer);
  const lessonServer = await session.startLectern(lessonFile, OPTIONS);
  const lessonUsage = await session.usageAtRest(lessonServer);
  for (const each of requests.slice(0, CHECKED)) {
    const [own, other] = [await answerOf(lessonServer.port, each), await answerOf(rowServer.port, each)];
    if (own.total !== other.total)
      throw new Error(`${each.path} gives ${own.total} and ${other.total} events`);
  }
  const rounds = await session.measure({ name: as, set: 'medium' }, [
    { name: 'rows', server: rowServer, as, connections },
    { name: 'lessons', server: lessonServer, as, connections },
  ]);
  await session.stop(rowServer, lessonServer);
  const micros = (name) => rounds.get(name).map(({ cpuMicros }) => cpuMicros);
  const of = `${count.toLocaleString('en')} lessons of ${GROUPS} groups`;
  const about = { group: 'format', set: 'medium', unit: 'ratio' };
  session.add(
    rowOf(
      { ...about, name: `a group's week, ${of} against a row for each group`, target: COST_RATIO_MAX },
      micros('lessons').map((each, n) => each / micros('rows')[n]),
      { micros: median(micros('lessons')), againstMicros: median(micros('rows')) },
    ),
  );
  session.add(
    rowOf(
      { ...about, name: `memory, ${of} against a row for each group`, target: MEMORY_RATIO_MAX },
      [lessonUsage.rssBytes / rowUsage.rssBytes],
      { bytes: lessonUsage.rssBytes, againstBytes: rowUsage.rssBytes },
    ),
  );
}
