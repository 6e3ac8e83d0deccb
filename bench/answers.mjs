import { request } from 'node:http';

/** Header fields that node:http adds. */
const ADDED = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);
/** Number of requests of a workload whose answers give the mean length. */
const SAMPLES = 200;
/** Bodies of these answers are kept until they have this many bytes. */
const KEPT_BYTES = 64 * 1024 * 1024;

/**
 * One answer, which the floor imitates.
 *
 * @returns {Promise<{ status: number, headers: string[], body: Buffer, bodyBytes: number, total: number }>} headers as in rawHeaders
 */
export function answerOf(port, { path, headers }, method = 'GET') {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers, method, agent: false }, (res) => {
      const chunks = [];
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('end', () => {
        const body = Buffer.concat(chunks);
        const fields = [];
        for (let i = 0; i < res.rawHeaders.length; i += 2) {
          if (!ADDED.has(res.rawHeaders[i].toLowerCase()))
            fields.push(res.rawHeaders[i], res.rawHeaders[i + 1]);
        }
        resolve({
          status: res.statusCode,
          headers: fields,
          body,
          bodyBytes: body.length,
          total: Number(res.headers['x-total-count'] ?? 0),
        });
      });
      res.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

/** The value of a header field, found by its name in lower case. */
export function fieldOf({ headers }, name) {
  const at = headers.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === name);
  return at === -1 ? undefined : headers[at + 1];
}

/** Requests with If-None-Match, which get 304. */
export async function conditional(port, requests) {
  const etag = fieldOf(await answerOf(port, requests[0]), 'etag');
  return requests.map((each) => ({ ...each, headers: { ...each.headers, 'if-none-match': etag } }));
}

/**
 * Appends answers until there are as many bytes as requested. Varied text is more work for the clients than
 * one repeated letter would be.
 */
function bytesOf(answers, byteLength) {
  const bytes = Buffer.alloc(byteLength);
  // Answers with 304 have no body.
  if (answers.every(({ body }) => body.length === 0)) return bytes;
  for (let at = 0, n = 0; at < byteLength; n++) at += answers[n % answers.length].body.copy(bytes, at);
  return bytes;
}

/**
 * A constant answer of the mean length of some of the requests.
 *
 * @returns {Promise<{ answer: { status: number, headers: string[], bodyBytes: number }, body: Buffer, meanEvents: number }>}
 */
export async function floorOf(port, requests) {
  const step = Math.max(1, Math.floor(requests.length / SAMPLES));
  const answers = [];
  let kept = 0;
  for (let i = 0; i < requests.length; i += step) {
    const answer = await answerOf(port, requests[i]);
    // Some of the largest answers are enough.
    if (kept > KEPT_BYTES) answer.body = Buffer.alloc(0);
    kept += answer.body.length;
    answers.push(answer);
  }
  const bad = answers.find(({ status }) => status !== 200 && status !== 304);
  if (bad !== undefined) throw new Error(`a request of the bench was answered with ${bad.status}`);
  const mean = (field) => answers.reduce((sum, answer) => sum + answer[field], 0) / answers.length;
  const bodyBytes = Math.round(mean('bodyBytes'));
  const [{ status, headers }] = answers;
  const length = headers.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === 'content-length');
  if (length !== -1) headers[length + 1] = String(bodyBytes);
  // The first answer of a large list may be produced while it is sent.
  else if (status === 200) headers.push('Content-Length', String(bodyBytes));
  return {
    answer: { status, headers, bodyBytes },
    body: bytesOf(answers, bodyBytes),
    meanEvents: mean('total'),
  };
}
