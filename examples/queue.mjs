// A timetable in a node:http server follows the changes in a queue.
//
//   node examples/queue.mjs
//
// The queue of this example is a list in memory. Replace the list by the consumer of your broker: acknowledge
// a message after it was applied and published, so that unfinished messages come again after a restart.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { MemorySource, openTimetable } from 'lectern';

const MESSAGES_MAX = 500;
const lesson = (n, more) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: '2026-09-14T06:00:00Z',
  endTime: '2026-09-14T07:30:00Z',
  title: `Lesson ${n}`,
  ...more,
});

class Queue {
  #messages = [];
  #arrived = () => {};

  push(message) {
    this.#messages.push(message);
    this.#arrived();
  }

  /** Waits for messages and takes at most `max` of them. */
  async take(max) {
    if (this.#messages.length === 0) {
      await new Promise((resolve) => {
        this.#arrived = resolve;
      });
    }
    return this.#messages.splice(0, max);
  }
}

const source = new MemorySource([lesson(1), lesson(2)]);
const timetable = openTimetable({ source });
const readTimetable = timetable.handler();
const server = createServer(readTimetable);
const queue = new Queue();
let isOpen = true;

async function followQueue() {
  while (isOpen) {
    const messages = await queue.take(MESSAGES_MAX);
    // Of several messages about one event, the last counts.
    const last = new Map(messages.map((message) => [message.id, message]));
    source.apply({
      upsert: [...last.values()].flatMap(({ record }) => record ?? []),
      remove: [...last.values()].filter(({ record }) => record === null).map(({ id }) => id),
    });
    // Waits until the changes are served. `reason` says why if they are not.
    const { result, reason } = await timetable.refresh();
    if (result === 'failed' || result === 'refused') console.error(reason);
  }
}

await timetable.ready;
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', async () => {
  console.log(`http://127.0.0.1:${server.address().port}/api/v1/schedule`);
  void followQueue();
  queue.push({ id: lesson(2).id, record: lesson(2, { title: 'Lesson 2 is in another room' }) });
  queue.push({ id: lesson(1).id, record: lesson(1, { title: 'Not for long' }) });
  await delay(50);
  queue.push({ id: lesson(3).id, record: lesson(3) });
  queue.push({ id: lesson(4).id, record: lesson(4) });
  await delay(50);
  queue.push({ id: lesson(1).id, record: null });
});

process.once('SIGTERM', async () => {
  isOpen = false;
  server.close();
  await timetable.close();
});
