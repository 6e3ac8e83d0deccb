/**
 * Loads a file as the service does, and prints the cost as JSON.
 *
 *     node load-file.mjs <built index.js> <file>
 */
const { openTimetable } = await import(process.argv[2]);
const timetable = openTimetable({ source: process.argv[3], watch: false });
await timetable.ready;
const { user, system } = process.cpuUsage();
process.stdout.write(
  JSON.stringify({ cpuMs: (user + system) / 1000, peakMib: process.resourceUsage().maxRSS / 1024 }),
);
await timetable.close();
