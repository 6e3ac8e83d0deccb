/** The rows of the demo, around a day: see scripts/demo.mjs. */

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** The term has 14 full weeks. Today is put into the sixth, so that there is something before and after it. */
const [FULL_WEEKS, WEEK_OF_TODAY] = [14, 6];
/** How many lessons of the next days change. */
const CHANGES = 16;

const uuidOf = (id, n) =>
  `${((Number.parseInt(id.slice(0, 8), 16) ^ n) >>> 0).toString(16).padStart(8, '0')}${id.slice(8)}`;
const later = (row, ms) => ({
  ...row,
  time: new Date(Date.parse(row.time) + ms).toISOString(),
  endTime: new Date(Date.parse(row.endTime) + ms).toISOString(),
});

/**
 * The term as it is, if today is within its full weeks. Otherwise the term is repeated, whole weeks later, so that
 * today is; the first term then ends where the second begins.
 *
 * @param rows in order of time
 */
export function rowsAround(rows, nowMs) {
  // The fixture begins on a Monday.
  const firstMs = Date.parse(`${rows[0].time.slice(0, 10)}T00:00:00Z`);
  const weeks = Math.floor((nowMs - firstMs) / WEEK_MS);
  if (weeks >= 0 && weeks < FULL_WEEKS - 1) return rows;
  const shift = weeks - (WEEK_OF_TODAY - 1);
  const repeated = rows.map((row) => later({ ...row, id: uuidOf(row.id, shift) }, shift * WEEK_MS));
  const beginMs = firstMs + shift * WEEK_MS;
  return shift < 0 ? repeated : [...rows.filter(({ time }) => Date.parse(time) < beginMs), ...repeated];
}

/**
 * Of the lessons of the next nine days, some are moved, get another room or lecturer, are cancelled or added. One that
 * is added clashes in this week.
 */
export function changedRows(rows, nowMs) {
  const isNear = ({ time }) => Date.parse(time) > nowMs && Date.parse(time) < nowMs + 9 * DAY_MS;
  const lessonOf = ({ time, courseId, title, type, roomId }) => [time, courseId, title, type, roomId].join();
  const near = rows.filter(isNear);
  const others = near.filter(({ roomId, lecturer }) => roomId && lecturer);
  const lessons = [...new Set(near.map(lessonOf))];
  // The first group by name is that of the test token: its first lessons change, too.
  const [group] = near.map(({ studyGroup }) => studyGroup).sort();
  const own = near.filter(({ studyGroup }) => studyGroup === group).map(lessonOf);
  const some = lessons.filter((_, n) => n % Math.ceil(lessons.length / (CHANGES - 4)) === 0);
  const chosen = [...new Set([...own.slice(0, 4), ...some])];
  const changed = rows.flatMap((row) => {
    const n = chosen.indexOf(lessonOf(row));
    if (n === -1 || !isNear(row)) return [row];
    const other = others[(n * 37 + 11) % others.length];
    if (n % 4 === 0) return [{ ...row, roomId: other.roomId, roomName: other.roomName }];
    if (n % 4 === 1) return [later(row, DAY_MS)];
    if (n % 4 === 2) return n % 8 === 2 ? [] : [row, { ...later(row, 2 * DAY_MS), id: uuidOf(row.id, 1) }];
    return [{ ...row, lecturer: other.lecturer, lecturerId: other.lecturerId }];
  });
  return [...changed, clashing(rows, group, nowMs)];
}

/** A lesson of another course of the group, during the next lesson of this week, or else the last. */
function clashing(rows, group, nowMs) {
  const ofGroup = rows.filter(({ studyGroup }) => studyGroup === group);
  const sunday = nowMs + ((7 - new Date(nowMs).getUTCDay()) % 7) * DAY_MS;
  const before = ofGroup.filter(({ time }) => Date.parse(time) < sunday - (sunday % DAY_MS));
  const beside = before.find(({ time }) => Date.parse(time) > nowMs) ?? before.at(-1);
  const other = ofGroup.find(({ courseId }) => courseId !== beside.courseId);
  const { time, endTime } = later(beside, DAY_MS / 48);
  return { ...other, id: uuidOf(beside.id, 2), time, endTime };
}
