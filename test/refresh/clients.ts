/** Keep-alive clients that read one answer after another and check each. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export function get(url: string, headers: Record<string, string> = {}, agent?: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request(url, { headers, ...(agent === undefined ? {} : { agent }) }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (piece: string) => {
        text += piece;
      });
      res.on('error', reject);
      res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
    });
    req.on('error', reject);
    req.end();
  });
}

export interface Load {
  /** Ends the clients; resolves when the last has its answer. */
  stop(): Promise<{ readonly answers: number; readonly problems: readonly string[] }>;
  readonly answers: number;
}

/**
 * @param urls requested in turn by each client
 * @param problemOf returns the fault of an answer, or null
 * @param pauseMs between an answer and the next request of a client
 */
export function startLoad(
  urls: readonly string[],
  headers: Record<string, string>,
  clients: number,
  problemOf: (answer: Answer, url: string) => string | null,
  pauseMs = 1,
): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const problems: string[] = [];
  let answers = 0;
  let stopped = false;
  const client = async (first: number): Promise<void> => {
    for (let n = first; !stopped; n++) {
      const url = urls[n % urls.length] ?? '';
      let problem: string | null;
      try {
        problem = problemOf(await get(url, headers, agent), url);
        answers++;
      } catch (error) {
        problem = `${url}: ${error instanceof Error ? error.message : String(error)}`;
      }
      if (problem !== null && problems.length < 20) problems.push(problem);
      // The server runs on this thread, and needs time for other work.
      await delay(pauseMs);
    }
  };
  const running = Array.from({ length: clients }, (_, n) => client(n));
  return {
    get answers() {
      return answers;
    },
    async stop() {
      stopped = true;
      await Promise.all(running);
      agent.destroy();
      return { answers, problems };
    },
  };
}
