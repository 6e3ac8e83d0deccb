/** A service that runs out of file descriptors for a moment while its files change. Prints its reports. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const records = (title) =>
  JSON.stringify([
    {
      id: '00000000-0000-4000-8000-000000000001',
      time: '2026-10-05T01:00:00Z',
      endTime: '2026-10-05T02:00:00Z',
      title,
    },
  ]);
const [, , index, source, enrolments] = process.argv;
writeFileSync(source, records('first'));
writeFileSync(enrolments, '{}');
const { openTimetable } = await import(index);
// Its client is loaded with the first connection.
const { openStore } = await import(new URL('store/open-store.js', index));
const store = openStore('nats://127.0.0.1:9/trial', 'fail');
const storeFailures = [];
const readStore = () => store.read('head').catch(({ message }) => storeFailures.push(message));
const told = [];
const tell = (level) => (fields, message) => told.push({ level, message, ...fields });
const log = { info: tell('info'), warn: tell('warn'), error: tell('error') };
const timetable = openTimetable({ source, watch: true });
timetable.on('error', (error) => told.push({ level: 'error', message: error.message }));
await timetable.ready;
await timetable.serve({ port: 0, log, auth: { hs256Secret: 'x'.repeat(32), enrolments } });

const until = async (isSo) => {
  // If this condition never holds, the parent ends the process.
  while (!isSo()) await delay(10);
};
const isTold = (pattern) => told.some(({ message }) => pattern.test(message));
const taken = [];
try {
  for (;;) taken.push(openSync('/dev/null'));
} catch {
  // No descriptor is left, except for the two writes.
}
await readStore();
for (const [path, text] of [
  [source, records('second')],
  [enrolments, '{"user":{"courseId":[]}}'],
]) {
  closeSync(taken.pop());
  writeFileSync(path, text);
  taken.push(openSync('/dev/null'));
}
await until(() => isTold(/enrolments not read/) && told.some(({ level }) => level === 'error'));
for (const fd of taken) closeSync(fd);
await until(() => isTold(/enrolments read again/) && timetable.find().events[0].title === 'second');
await readStore();
console.log(JSON.stringify({ told, storeFailures }));
await store.close();
await timetable.close();
