/**
 * Badly behaved clients, in a separate process. Each mode prints lines of JSON.
 *
 *     node http-clients.mjs <mode> <port> <count> <authorization> [<path>] [<method>]
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const [mode = '', port = '', count = '', authorization = '', path = '/api/v1/schedule/all', method = 'GET'] =
  process.argv.slice(2);
const REQUEST = `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n`;
const tell = (fact) => process.stdout.write(`${JSON.stringify(fact)}\n`);

/** Opens connections in batches, because the queue of connections to accept is short. */
async function open(use) {
  const sockets = [];
  for (let n = 0; n < Number(count); n++) {
    sockets.push(
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), '127.0.0.1', () => resolve(socket));
        socket.once('error', reject);
      }).then((socket) => {
        // The service resets connections that it cuts off.
        socket.on('error', () => {});
        return use(socket);
      }),
    );
    if (n % 100 === 99) await Promise.all(sockets);
  }
  return Promise.all(sockets);
}

const MODES = {
  /** Clients that request a large answer and never read. */
  async stalled() {
    await open((socket) => {
      socket.pause();
      socket.write(`${REQUEST}\r\n`);
    });
    tell({ open: Number(count) });
  },

  /** All requests at once on one connection, which is read only after a while. */
  async pipelined() {
    const socket = connect(Number(port), '127.0.0.1');
    let bytes = 0;
    socket.on('error', () => {});
    socket.on('close', () => tell({ closed: true, bytes }));
    socket.pause();
    socket.write(`${REQUEST}\r\n`.repeat(Number(count)));
    tell({ open: 1 });
    // The clients send nothing in this time.
    await delay(3000);
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    socket.resume();
  },

  /** Header fields that never end, one a second. */
  async slowloris() {
    let closed = 0;
    let slowestMs = 0;
    const statuses = {};
    await open((socket) => {
      const beganMs = performance.now();
      let text = '';
      socket.write(REQUEST);
      const timer = setInterval(() => socket.write('a: b\r\n'), 1000);
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => {
        clearInterval(timer);
        slowestMs = Math.max(slowestMs, performance.now() - beganMs);
        const status = text.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (++closed === Number(count)) tell({ closed, slowestMs, statuses });
      });
    });
    tell({ open: Number(count) });
  },

  /** Repeats the same request after each answer; prints the number of answers once a second. */
  async looped() {
    let answers = 0;
    await open((socket) => {
      let head = '';
      let missing = 0;
      socket.on('data', (chunk) => {
        let rest = chunk;
        if (missing === 0) {
          head += chunk.toString('latin1');
          const end = head.indexOf('\r\n\r\n');
          if (end === -1) return;
          missing = method === 'HEAD' ? 0 : Number(/Content-Length: (\d+)/.exec(head)?.[1]);
          rest = chunk.subarray(end + 4 - (head.length - chunk.length));
          head = '';
        }
        missing -= rest.length;
        if (missing > 0) return;
        answers++;
        socket.write(`${REQUEST}\r\n`);
      });
      socket.write(`${REQUEST}\r\n`);
    });
    setInterval(() => tell({ answers }), 1000);
  },

  /** One request and nothing more. */
  async idle() {
    await open(
      (socket) =>
        new Promise((resolve, reject) => {
          socket.once('data', () => resolve(socket));
          socket.once('close', () => reject(new Error('closed')));
          socket.write(`${REQUEST}\r\n`);
        }),
    );
    tell({ open: Number(count) });
  },

  /**
   * Event streams. Reports when all are open, and for each message the time between the first and the last
   * client that gets it.
   */
  async streams() {
    const had = [];
    let ended = 0;
    await open(
      (socket) =>
        new Promise((resolve) => {
          let messages = -1;
          let last = '';
          socket.on('close', () => tell({ ended: ++ended }));
          socket.on('data', (chunk) => {
            // A message begins with its id; a piece may be cut there.
            const text = last + chunk.toString('latin1');
            last = text.slice(-4);
            for (let n = text.split('\nid: ').length - 1; n > 0; n--) {
              messages++;
              if (messages === 0) resolve(socket);
              else {
                had[messages] ??= { count: 0, beganMs: performance.now() };
                const message = had[messages];
                if (++message.count === Number(count))
                  tell({ messages, ms: performance.now() - message.beganMs });
              }
            }
          });
          socket.write(`${REQUEST}Accept: text/event-stream\r\n\r\n`);
        }),
    );
    tell({ open: Number(count) });
  },

  /** Read steadily: `count` KiB a second. */
  async steady() {
    const socket = connect(Number(port), '127.0.0.1');
    let bytes = 0;
    let text = '';
    let total = Number.POSITIVE_INFINITY;
    socket.on('error', () => {});
    socket.on('close', () => tell({ bytes, total }));
    socket.write(`${REQUEST}Connection: close\r\n\r\n`);
    const beganMs = performance.now();
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      if (total === Number.POSITIVE_INFINITY) {
        text += chunk.toString('latin1');
        const length = /Content-Length: (\d+)/.exec(text)?.[1];
        if (length !== undefined) total = Number(length) + text.indexOf('\r\n\r\n') + 4;
      }
      const aheadMs = (bytes / 1024 / Number(count)) * 1000 - (performance.now() - beganMs);
      if (aheadMs > 20) {
        socket.pause();
        // The pace of the reader.
        setTimeout(() => socket.resume(), aheadMs);
      }
    });
  },
};
await MODES[mode]();
// Runs until stopped: the service should close most of these connections.
setInterval(() => {}, 60_000);
