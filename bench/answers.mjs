import { request } from 'node:http';

/** Header fields that node:http adds by itself. */
const ADDED = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);
/** Requests of a workload that are looked at for the mean length of its answers. */
const SAMPLES = 200;

/**
 * One answer: what the floor has to imitate.
 *
 * @returns {Promise<{ status: number, headers: string[], bodyBytes: number, total: number }>} headers as in rawHeaders
 */
export function answerOf(port, { path, headers }, method = 'GET') {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers, method, agent: false }, (res) => {
      let bodyBytes = 0;
      res.on('data', (chunk) => {
        bodyBytes += chunk.length;
      });
      res.on('end', () => {
        const fields = [];
        for (let i = 0; i < res.rawHeaders.length; i += 2) {
          if (!ADDED.has(res.rawHeaders[i].toLowerCase()))
            fields.push(res.rawHeaders[i], res.rawHeaders[i + 1]);
        }
        resolve({
          status: res.statusCode,
          headers: fields,
          bodyBytes,
          total: Number(res.headers['x-total-count'] ?? 0),
        });
      });
      res.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

/** The value of a header field of an answer; its name in lower case. */
export function fieldOf({ headers }, name) {
  const at = headers.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === name);
  return at === -1 ? undefined : headers[at + 1];
}

/** Requests that are answered with 304, since they say what they have. */
export async function conditional(port, requests) {
  const etag = fieldOf(await answerOf(port, requests[0]), 'etag');
  return requests.map((each) => ({ ...each, headers: { ...each.headers, 'if-none-match': etag } }));
}

/**
 * A constant answer of the mean length over some of the requests.
 *
 * @returns {Promise<{ answer: { status: number, headers: string[], bodyBytes: number }, meanEvents: number }>}
 */
export async function floorOf(port, requests) {
  const step = Math.max(1, Math.floor(requests.length / SAMPLES));
  const answers = [];
  for (let i = 0; i < requests.length; i += step) answers.push(await answerOf(port, requests[i]));
  const bad = answers.find(({ status }) => status !== 200 && status !== 304);
  if (bad !== undefined) throw new Error(`a request of the bench was answered with ${bad.status}`);
  const mean = (field) => answers.reduce((sum, answer) => sum + answer[field], 0) / answers.length;
  const bodyBytes = Math.round(mean('bodyBytes'));
  const [{ status, headers }] = answers;
  const length = headers.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === 'content-length');
  if (length !== -1) headers[length + 1] = String(bodyBytes);
  return { answer: { status, headers, bodyBytes }, meanEvents: mean('total') };
}
