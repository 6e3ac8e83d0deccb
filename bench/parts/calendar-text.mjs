/** A calendar of ordinary events, with texts that repeat, a folded line and an escaped comma. */
const HOUR_MS = 3_600_000;
const compact = (ms) => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');

/** @param {number} events @param {boolean} isZoned whether times have a TZID */
export function calendarText(events, isZoned) {
  const at = (name, ms) =>
    `${name}${isZoned ? ';TZID=Europe/Berlin' : ''}:${compact(ms).slice(0, isZoned ? -1 : undefined)}`;
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//bench//EN', 'X-WR-CALNAME:Bench'];
  for (let n = 0; n < events; n++) {
    const start = Date.UTC(2026, 0, 1, 8) + (n % 3000) * HOUR_MS + Math.floor(n / 3000) * 300_000;
    lines.push(
      'BEGIN:VEVENT',
      `UID:lesson-${n}@example.edu`,
      'DTSTAMP:20260101T000000Z',
      at('DTSTART', start),
      at('DTEND', start + 1.5 * HOUR_MS),
      `SUMMARY:Linear Algebra ${n % 800}`,
      `LOCATION:Building ${n % 20}\\, room ${n % 130}`,
      `ORGANIZER;CN="Ada Lovelace ${n % 400}":mailto:ada${n % 400}@example.edu`,
      'CATEGORIES:Lecture',
      'DESCRIPTION:Bring your notes\\nand a pencil. The course has further pages under',
      '  an address that is long enough to be folded.',
      'END:VEVENT',
    );
  }
  return [...lines, 'END:VCALENDAR', ''].join('\r\n');
}
