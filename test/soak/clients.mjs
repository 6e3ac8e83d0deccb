/** All clients: good ones, and ones that try to break servers. Their pauses are the load. */
import { setMaxListeners } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const pick = (list, random) => list[Math.floor(random() * list.length)];

/** Ends the waits of all rude clients. It has more listeners than Node's warning allows. */
function newShift() {
  const shift = new AbortController();
  setMaxListeners(0, shift.signal);
  return shift;
}

/** Requests of good clients, with rooms, groups and other values of the timetable. */
export function questionsOf(events, random) {
  const days = [...new Set(events.map(({ time }) => time.slice(0, 10)))];
  return () => {
    const event = pick(events, random);
    const day = pick(days, random);
    const window = `startTime=${day}T00:00:00Z&endTime=${day}T23:59:59.${100 + Math.floor(random() * 900)}Z`;
    return pick(
      [
        `/schedule?studyGroup=${encodeURIComponent(event.studyGroup ?? 'none')}`,
        `/schedule?roomId=${event.roomId ?? event.id}&${window}`,
        `/schedule?courseId=${event.courseId ?? event.id}&type=LEC&type=LAB`,
        `/schedule?${window}`,
        `/schedule?${window}&format=msgpack`,
        `/schedule?limit=${1 + Math.floor(random() * 500)}&type=LEC`,
        '/schedule/personal',
        '/schedule/types',
        `/schedule/conflicts?by=room&${window}`,
        '/schedule/conflicts?merge=false&limit=20',
        '/schedule/all?limit=1000',
        '/schedule/all',
        '/schedule?studyGroup=hot',
      ],
      random,
    );
  };
}

/** Refused as promised for overload: with Retry-After, and for no other reason. */
function isShed({ statusCode, headers }, text) {
  return (
    statusCode === 503 && /^\d+$/.test(headers['retry-after'] ?? '') && text.includes('"code":"overloaded"')
  );
}

export class Clients {
  #url;
  #random;
  #agent = new Agent({ keepAlive: true, maxSockets: 24 });
  #isOver = false;
  #pause = null;
  /** Ends the waits of the rude clients when all clients leave. */
  #shift = newShift();
  /** Requests of the clients that wait for their answers. */
  #asked = new Set();
  /** Clients whose connections are opened by hand. */
  #sockets = new Set();
  /** Answers by kind of client and status. `error` for none. */
  counts = {};

  constructor(url, random) {
    this.#url = new URL(url);
    this.#random = random;
  }

  count(kind, status) {
    if (this.#isOver) return;
    this.counts[kind] ??= {};
    this.counts[kind][status] = (this.counts[kind][status] ?? 0) + 1;
  }

  /** Runs `ask` repeatedly, except while all clients are away. */
  async #forever(ask, pauseMs = 0) {
    while (!this.#isOver) {
      await this.#pause;
      try {
        await ask(this.#shift.signal);
      } catch (error) {
        if (error.name !== 'AbortError') throw error;
      }
      if (pauseMs > 0) await delay(pauseMs);
    }
  }

  /** Waits for an answer, as leaving clients also do. */
  async #answer(ask) {
    await this.#pause;
    const asked = new Promise(ask);
    this.#asked.add(asked);
    const answer = await asked;
    this.#asked.delete(asked);
    return answer;
  }

  get(kind, path, headers) {
    return this.#answer((resolve) => {
      const { hostname, port, pathname } = this.#url;
      const req = request({ hostname, port, path: pathname + path, headers, agent: this.#agent }, (res) => {
        let text = '';
        if (res.statusCode === 503) {
          res.setEncoding('utf8').on('data', (chunk) => {
            text += chunk;
          });
        } else res.resume();
        res.on('end', () => {
          this.count(kind, isShed(res, text) ? 'shed' : res.statusCode);
          resolve(res);
        });
        res.on('error', () => {
          this.count(kind, 'error');
          resolve(null);
        });
      });
      req.on('error', () => {
        this.count(kind, 'error');
        resolve(null);
      });
      req.end();
    });
  }

  /** Clients with good tokens, which sometimes send If-None-Match. */
  good(amount, question, tokenOf) {
    for (let n = 0; n < amount; n++) {
      const tags = new Map();
      this.#forever(async () => {
        const path = question();
        const headers = { authorization: `Bearer ${tokenOf()}` };
        if (tags.has(path)) headers['if-none-match'] = tags.get(path);
        const res = await this.get('good', path, headers);
        if (res?.headers.etag !== undefined && tags.size < 50) tags.set(path, res.headers.etag);
      });
    }
  }

  /** A monitor: requests metrics and readiness every second. */
  watch(origin) {
    const { hostname, port } = new URL(origin);
    const ask = (path) =>
      this.#answer((resolve) => {
        const req = request({ hostname, port, path, agent: this.#agent }, (res) => {
          res.resume().on('close', resolve);
          this.count(path, res.statusCode);
        });
        req.on('error', () => {
          this.count(path, 'error');
          resolve();
        });
        req.end();
      });
    this.#forever(() => ask('/metrics'), 1000);
    this.#forever(() => ask('/live'), 1000);
  }

  bad(tokensOf) {
    let n = 0;
    this.#forever(async () => {
      for (const token of tokensOf(n++))
        await this.get('bad token', '/schedule', { authorization: `Bearer ${token}` });
    }, 20);
    this.#forever(() => this.get('no token', '/schedule', {}), 50);
    this.#forever(
      () =>
        this.get('bad query', `/schedule?n${n}=1&limit=x&startTime=%ff`, {
          authorization: `Bearer ${tokensOf(n)[0]}`,
        }),
      50,
    );
  }

  #socket(bytes) {
    if (this.#isOver) return new Socket().destroy();
    const socket = connect(Number(this.#url.port), this.#url.hostname);
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    socket.write(bytes);
    return socket;
  }

  #closed(socket) {
    return socket.closed ? undefined : new Promise((resolve) => socket.once('close', resolve));
  }

  /** Bad clients: they do not read, do not write, write nonsense, write too much, or leave. */
  rude(tokenOf) {
    const head = (path) =>
      `GET ${this.#url.pathname}${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tokenOf()}\r\n\r\n`;
    for (let n = 0; n < 6; n++) {
      this.#forever(async (signal) => {
        // More than the kernel holds for a connection.
        const socket = this.#socket(head('/schedule/all').repeat(4));
        socket.pause();
        // A client that does not read does not notice the closed connection.
        await delay(40_000, undefined, { signal });
        socket.resume();
        const closed = this.#closed(socket)?.then(() => 'closed') ?? 'closed';
        this.count('slow reader', await Promise.race([closed, delay(5000, 'open', { signal })]));
        socket.destroy();
      });
      this.#forever(async (signal) => {
        const socket = this.#socket('GET / HTTP/1.1\r\nHost');
        socket.resume();
        await this.#closed(socket);
        signal.throwIfAborted();
        this.count('slow writer', 'closed');
      });
    }
    this.#forever(async () => {
      const bytes = Buffer.from(Array.from({ length: 200 }, () => Math.floor(this.#random() * 256)));
      const socket = this.#socket(
        Buffer.concat([
          Buffer.from(pick(['', 'GET /', head('/schedule'), 'POST / HTTP/1.1\r\n'], this.#random)),
          bytes,
        ]),
      );
      socket.resume();
      await Promise.race([this.#closed(socket), delay(1000)]);
      socket.destroy();
      this.count('nonsense', 'closed');
    }, 20);
    this.#forever(async () => {
      const socket = this.#socket(head('/schedule?limit=100').repeat(200));
      socket.resume();
      await Promise.race([this.#closed(socket), delay(1000)]);
      socket.destroy();
      this.count('flood', 'closed');
    }, 200);
    this.#forever(async () => {
      const socket = this.#socket(head('/schedule/all'));
      await delay(Math.floor(this.#random() * 20));
      socket.destroy();
      this.count('leaver', 'closed');
    }, 20);
  }

  /**
   * All clients leave: good ones after their answer, rude ones at once, unless they are to stay. They return
   * only when the returned function is called.
   *
   * @param {{ rudeStay: boolean }} how
   */
  async leave({ rudeStay }) {
    let comeBack;
    this.#pause = new Promise((resolve) => {
      comeBack = resolve;
    });
    await Promise.all(this.#asked);
    if (!rudeStay) {
      this.#hangUp();
      this.#shift = newShift();
      this.#agent = new Agent({ keepAlive: true, maxSockets: 24 });
    }
    return () => {
      this.#pause = null;
      comeBack();
    };
  }

  stop() {
    this.#isOver = true;
    this.#hangUp();
  }

  #hangUp() {
    this.#shift.abort();
    this.#agent.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}
