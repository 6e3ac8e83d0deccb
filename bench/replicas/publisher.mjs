/**
 * One process: publishes a file, or only loads it.
 *
 *     node publisher.mjs <file> <address> <private key>
 *     node publisher.mjs <file>
 */
import { setTimeout as delay } from 'node:timers/promises';
import { openChannel, openTimetable, publishTimetable } from '../../dist/index.js';
import { answerRequests } from './process.mjs';

const LOOK_MS = 50;

const [file, to, publisherKey] = process.argv.slice(2);

/** Announcements are read from the store, because a log has only some of them. */
async function tellAnnouncements() {
  const channel = await openChannel(to, { publisherKey });
  process.on('disconnect', () => void channel.close());
  for (let last = null; process.connected; await delay(LOOK_MS)) {
    const { head } = await channel.status();
    if (head === null || head.sequence === last) continue;
    last = head.sequence;
    process.send({ event: 'announced', id: head.id, bytes: head.bytes, atMs: head.announcedAtMs });
  }
}

async function publish() {
  const publishing = await publishTimetable({ source: file, gate: false }, { to, publisherKey });
  answerRequests({ refresh: () => publishing.refresh(true) }, () => publishing.close());
  await publishing.announced;
  tellAnnouncements().catch((error) => {
    if (process.connected) throw error;
  });
}

async function build() {
  const beganCpu = process.cpuUsage();
  const timetable = openTimetable({ source: file });
  await timetable.ready;
  const { user, system } = process.cpuUsage(beganCpu);
  process.send({ event: 'built', cpuMs: (user + system) / 1000 });
  await timetable.close();
  process.disconnect();
}

await (to === undefined ? build() : publish());
