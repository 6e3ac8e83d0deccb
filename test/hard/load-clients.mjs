/**
 * Load on a service, from a separate process. Reads commands as lines of JSON from standard input, and
 * answers each with such a line when it is done.
 *
 *     node load-clients.mjs <port> <authorization> <path with {n}>
 *
 * - `{ "connections": n, "forMs": n }`: a number of clients, each of which repeats its request after each
 *   answer - `{ "rate": n, "connections": n, "forMs": n }`: a fixed rate of requests a second. Requests use
 *   idle connections, or new ones up to the bound, and otherwise wait
 *
 * Times run from sending a request to the last byte of its answer, in ms.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const [port = '', authorization = '', path = ''] = process.argv.slice(2);
let asked = 0;
const text = () =>
  `GET ${path.replace('{n}', String(asked++))} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`;

let run = null;
const idle = [];
let open = 0;

function client() {
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  open++;
  const self = { ask, socket };
  let sentMs = 0;
  let status = 0;
  let missing = -1;
  function ask() {
    sentMs = performance.now();
    missing = -1;
    socket.write(text());
  }
  socket.on('data', (chunk) => {
    if (missing < 0) {
      const head = chunk.latin1Slice(0, Math.min(chunk.length, 1024));
      const end = head.indexOf('\r\n\r\n');
      status = Number(head.slice(9, 12));
      const at = head.indexOf('Content-Length: ');
      missing = end + 4 + Number.parseInt(head.slice(at + 16, at + 26), 10);
    }
    missing -= chunk.length;
    if (missing === 0) over();
  });
  function over() {
    run?.done(status, performance.now() - sentMs);
    run?.next(self);
  }
  const lost = () => {
    if (socket.destroyed && self.isGone) return;
    self.isGone = true;
    open--;
    run?.done(0, 0);
  };
  socket.on('error', lost);
  socket.on('close', lost);
  return self;
}

function percentile(sorted, part) {
  return sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/** Counts and times by status; the number of each status in each tenth of a second. */
function record() {
  const beganMs = performance.now();
  const times = {};
  const tenths = [];
  return {
    done(status, tookMs) {
      times[status] ??= [];
      times[status].push(tookMs);
      const tenth = Math.floor((performance.now() - beganMs) / 100);
      tenths[tenth] ??= {};
      const counts = tenths[tenth];
      counts[status] = (counts[status] ?? 0) + 1;
    },
    result(more) {
      const seconds = (performance.now() - beganMs) / 1000;
      const statuses = {};
      for (const [status, all] of Object.entries(times)) {
        all.sort((a, b) => a - b);
        statuses[status] = {
          count: all.length,
          perSecond: all.length / seconds,
          p50Ms: percentile(all, 0.5),
          p99Ms: percentile(all, 0.99),
          maxMs: all.at(-1),
        };
      }
      return { seconds, statuses, tenths: Array.from(tenths, (counts) => counts ?? {}), ...more };
    },
  };
}

async function closedLoop({ connections, forMs }) {
  await openAll(connections);
  return new Promise((resolve) => {
    const kept = record();
    run = { done: kept.done, next: (self) => self.ask() };
    for (const self of idle.splice(0, connections)) self.ask();
    // The length of the load.
    setTimeout(() => {
      const result = kept.result({});
      run = { done() {}, next: (self) => idle.push(self) };
      // The last answers arrive.
      setTimeout(() => resolve(result), 300);
    }, forMs);
  });
}

async function openAll(connections) {
  // In batches, because the queue of connections to accept is short.
  while (open < connections) {
    const batch = Array.from({ length: Math.min(100, connections - open) }, client);
    await Promise.all(batch.map(({ socket }) => once(socket, 'connect')));
    idle.push(...batch);
  }
}

async function openLoop({ rate, connections, forMs }) {
  await openAll(connections);
  return new Promise((resolve) => {
    const kept = record();
    let due = 0;
    let waitedMost = 0;
    let sent = 0;
    let first = 0;
    function send() {
      while (due >= 1) {
        const self = idle[first];
        if (self === undefined) {
          waitedMost = Math.max(waitedMost, due);
          return;
        }
        first++;
        if (self.isGone) continue;
        due--;
        sent++;
        self.ask();
      }
    }
    run = { done: kept.done, next: (self) => idle.push(self) };
    let lastMs = performance.now();
    const timer = setInterval(() => {
      const nowMs = performance.now();
      // The part taken from the beginning.
      idle.splice(0, first);
      first = 0;
      due += ((nowMs - lastMs) / 1000) * rate;
      lastMs = nowMs;
      send();
    }, 1);
    // The length of the load.
    setTimeout(() => {
      clearInterval(timer);
      run = { done() {}, next: (self) => idle.push(self) };
      idle.splice(0, first);
      resolve(kept.result({ sent, waitedMost, open }));
    }, forMs);
  });
}

for await (const line of createInterface(process.stdin)) {
  const command = JSON.parse(line);
  const result = await (command.rate === undefined ? closedLoop(command) : openLoop(command));
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
