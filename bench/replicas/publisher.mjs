/**
 * One process: publishes a file, or only loads it.
 *
 *     node publisher.mjs <file> <address> <private key>
 *     node publisher.mjs <file>
 */
import { openTimetable, publishTimetable } from '../../dist/index.js';
import { answerRequests } from './process.mjs';

const [file, to, publisherKey] = process.argv.slice(2);

async function publish() {
  const announced = ({ snapshot, bytes }, message) => {
    if (message !== 'timetable announced') return;
    process.send({ event: 'announced', id: snapshot, bytes, atMs: Date.now() });
  };
  const quiet = () => {};
  const log = { trace: quiet, debug: quiet, info: announced, warn: quiet, error: quiet, fatal: quiet };
  const publishing = await publishTimetable({ source: file, gate: false }, { to, publisherKey, log });
  answerRequests({ refresh: () => publishing.refresh(true) }, () => publishing.close());
  await publishing.announced;
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
