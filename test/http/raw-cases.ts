/** Bytes that a client may send, and the exact answers, equal on every version of Node. */
import { connect } from 'node:net';

export interface RawCase {
  readonly name: string;
  readonly bytes: string;
  /** The status line of each answer, without the version. */
  readonly statuses: readonly string[];
  /** The problem code of the last answer; null if it is not a problem. */
  readonly code: string | null;
  /** Whether the service closes the connection; the last answer then says so. */
  readonly closes: boolean;
}

const PATH = '/api/v1/schedule/types';
const LINE = `GET ${PATH} HTTP/1.1\r\n`;
const HOST = 'Host: a\r\n';

const OK = '200 OK';
const BAD = '400 Bad Request';
const REFUSED = '405 Method Not Allowed';
const LARGE = '431 Request Header Fields Too Large';
const UNKNOWN = '501 Not Implemented';
const VERSION = '505 HTTP Version Not Supported';

/** @param authorization a header field with its line end, for a valid token */
export function rawCases(authorization: string): readonly RawCase[] {
  const good = HOST + authorization;
  const cases: RawCase[] = [];
  const answered = (name: string, bytes: string, ...statuses: string[]): void => {
    cases.push({ name, bytes, statuses, code: null, closes: false });
  };
  /** Refused, and the connection is closed. */
  const refused = (name: string, bytes: string, status: string, code: string): void => {
    cases.push({ name, bytes, statuses: [status], code, closes: true });
  };
  const malformed = (name: string, bytes: string): void => refused(name, bytes, BAD, 'invalid-request');
  /** Header fields of a GET that make it malformed. */
  const field = (name: string, fields: string, rest = ''): void =>
    malformed(name, `${LINE}${good}${fields}\r\n\r\n${rest}`);

  answered('a request', `${LINE}${good}\r\n`, OK);
  answered('HEAD', `HEAD ${PATH} HTTP/1.1\r\n${good}\r\n`, OK);
  answered('OPTIONS of everything', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, '204 No Content');
  answered('the absolute form', `GET http://b${PATH} HTTP/1.1\r\n${good}\r\n`, OK);
  answered('empty lines before a request', `\r\n\r\n${LINE}${good}\r\n`, OK);
  answered('bytes above ASCII in a value', `${LINE}${good}a: \xfc\r\n\r\n`, OK);
  answered('Connection: upgrade without Upgrade', `${LINE}${good}Connection: upgrade\r\n\r\n`, OK);
  answered('Content-Length 0', `${LINE}${good}Content-Length: 0\r\n\r\n`, OK);
  answered('Content-Length 00', `${LINE}${good}Content-Length: 00\r\n\r\n`, OK);
  answered('pipelining', `${LINE}${good}\r\n`.repeat(20), ...Array<string>(20).fill(OK));
  cases.push(
    {
      name: 'Connection: close, and more after it',
      bytes: `${LINE}${good}Connection: close\r\n\r\n${LINE}${good}\r\n`,
      statuses: [OK],
      code: null,
      closes: true,
    },
    {
      name: 'HTTP/1.0',
      bytes: `GET ${PATH} HTTP/1.0\r\n${authorization}\r\n`,
      statuses: [OK],
      code: null,
      closes: true,
    },
    {
      name: 'an expectation in HTTP/1.0',
      bytes: `GET ${PATH} HTTP/1.0\r\n${authorization}Expect: x\r\n\r\n`,
      statuses: [OK],
      code: null,
      closes: true,
    },
    {
      name: 'Expect: 100-continue, which gets its final answer at once',
      bytes: `${LINE}${good}Expect: 100-continue\r\n\r\n`,
      statuses: [OK],
      code: null,
      closes: true,
    },
    {
      name: 'what is no request, after one that is',
      bytes: `${LINE}${good}\r\nGARBAGE\r\n\r\n`,
      statuses: [OK, BAD],
      code: 'invalid-request',
      closes: true,
    },
    {
      name: 'POST without a body',
      bytes: `POST ${PATH} HTTP/1.1\r\n${HOST}\r\n`,
      statuses: [REFUSED],
      code: 'method-not-allowed',
      closes: false,
    },
    {
      name: 'a target of 9 KiB',
      bytes: `GET /${'x'.repeat(9000)} HTTP/1.1\r\n${HOST}\r\n`,
      statuses: ['414 URI Too Long'],
      code: 'request-target-too-long',
      closes: false,
    },
    {
      name: 'no token',
      bytes: `${LINE}${HOST}\r\n`,
      statuses: ['401 Unauthorized'],
      code: 'credentials-missing',
      closes: false,
    },
    {
      name: 'no such path',
      bytes: `GET /x HTTP/1.1\r\n${HOST}\r\n`,
      statuses: ['404 Not Found'],
      code: 'not-found',
      closes: false,
    },
  );

  // Request lines.
  malformed('HTTP/0.9', 'GET /\r\n\r\n');
  malformed('a version before 1.0', `GET ${PATH} HTTP/0.9\r\n${good}\r\n`);
  refused('HTTP/1.2', `GET ${PATH} HTTP/1.2\r\n${good}\r\n`, VERSION, 'version-not-supported');
  refused('HTTP/2.0', `GET ${PATH} HTTP/2.0\r\n${good}\r\n`, VERSION, 'version-not-supported');
  refused('HTTP/3.0', `GET ${PATH} HTTP/3.0\r\n${good}\r\n`, VERSION, 'version-not-supported');
  refused('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', VERSION, 'version-not-supported');
  malformed('a version of two digits', `GET ${PATH} HTTP/11.1\r\n${good}\r\n`);
  malformed('http in small letters', `GET ${PATH} http/1.1\r\n${good}\r\n`);
  malformed('another protocol', `GET ${PATH} ICE/1.0\r\n${good}\r\n`);
  malformed('a response', 'HTTP/1.1 200 OK\r\n\r\n');
  malformed('a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03');
  malformed('tabs for spaces', `GET\t${PATH}\tHTTP/1.1\r\n${good}\r\n`);
  malformed('a space after the version', `GET ${PATH} HTTP/1.1 \r\n${good}\r\n`);
  malformed('a space before the method', ` ${LINE}${good}\r\n`);
  malformed('a target without a slash', `GET x HTTP/1.1\r\n${HOST}\r\n`);
  malformed('a target of another scheme', `GET ftp://a/b HTTP/1.1\r\n${HOST}\r\n`);
  malformed('the authority form', `GET example.org:80 HTTP/1.1\r\n${HOST}\r\n`);
  malformed('NUL in the target', `GET /\0 HTTP/1.1\r\n${HOST}\r\n`);
  malformed('bytes above ASCII in the target', `GET /\xc3\x9c HTTP/1.1\r\n${HOST}\r\n`);
  malformed('DEL in the target', `GET /\x7f HTTP/1.1\r\n${HOST}\r\n`);
  refused('an unknown method', `FOO / HTTP/1.1\r\n${HOST}\r\n`, UNKNOWN, 'method-not-implemented');
  refused(
    'a method of 20 KB',
    `${'G'.repeat(20_000)} / HTTP/1.1\r\n${HOST}\r\n`,
    UNKNOWN,
    'method-not-implemented',
  );
  refused('CONNECT', `CONNECT a:443 HTTP/1.1\r\n${HOST}\r\n`, REFUSED, 'method-not-allowed');
  refused('TRACE', `TRACE ${PATH} HTTP/1.1\r\n${HOST}\r\n`, REFUSED, 'method-not-allowed');
  refused(
    'a target of 17 KB',
    `GET /${'x'.repeat(17_000)} HTTP/1.1\r\n${HOST}\r\n`,
    '414 URI Too Long',
    'request-target-too-long',
  );

  // A long target does not hide other faults: the connection is still closed.
  const long = `/${'x'.repeat(9000)}`;
  malformed('two Hosts and a long target', `GET ${long} HTTP/1.1\r\n${HOST}${good}\r\n`);
  malformed('no Host and a long target', `GET ${long} HTTP/1.1\r\n${authorization}\r\n`);
  malformed('two Authorizations and a long target', `GET ${long} HTTP/1.1\r\n${good}${authorization}\r\n`);
  malformed('a body and a long target', `GET ${long} HTTP/1.1\r\n${good}Content-Length: 5\r\n\r\nhello`);
  malformed('a long target of another scheme', `GET ftp:/${long} HTTP/1.1\r\n${good}\r\n`);
  refused('TRACE of a long target', `TRACE ${long} HTTP/1.1\r\n${HOST}\r\n`, REFUSED, 'method-not-allowed');
  refused(
    'an unknown coding and a long target',
    `POST ${long} HTTP/1.1\r\n${good}Transfer-Encoding: x\r\n\r\n`,
    UNKNOWN,
    'transfer-coding-not-implemented',
  );
  refused(
    '101 fields and a long target',
    `GET ${long} HTTP/1.1\r\n${good}${'a: b\r\n'.repeat(99)}\r\n`,
    LARGE,
    'headers-too-large',
  );
  refused(
    'an unknown expectation and a long target',
    `GET ${long} HTTP/1.1\r\n${good}Expect: x\r\n\r\n`,
    '417 Expectation Failed',
    'expectation-failed',
  );
  refused(
    'POST with a body to a long target',
    `POST ${long} HTTP/1.1\r\n${good}Content-Length: 5\r\n\r\nhello`,
    '414 URI Too Long',
    'request-target-too-long',
  );

  // Lines and fields.
  malformed('LF for every line end', `GET ${PATH} HTTP/1.1\nHost: a\n\n`);
  field('LF for one line end', 'a: x\nb: y');
  field('CR in a value', 'a: x\ry');
  field('a folded line', 'a: x\r\n y');
  field('NUL in a value', 'a: \0');
  field('a control character in a value', 'a: \x01');
  field('a space before the colon', 'a : x');
  field('a field without a colon', 'a');
  field('a field without a name', ': x');
  field('a parenthesis in a name', 'a(: x');
  malformed('a space before the first name', `${LINE} ${good}\r\n`);
  malformed('no Host', `${LINE}${authorization}\r\n`);
  malformed('two Hosts', `${LINE}${HOST}${good}\r\n`);
  malformed('a Host that is none', `${LINE}Host: a/b\r\n${authorization}\r\n`);
  field('two Authorizations', authorization.trim());
  malformed('two Authorizations where there is nothing', `GET /x HTTP/1.1\r\n${good}${authorization}\r\n`);
  refused('101 fields', `${LINE}${good}${'a: b\r\n'.repeat(99)}\r\n`, LARGE, 'headers-too-large');
  refused('17 KB of fields', `${LINE}${good}a: ${'x'.repeat(17_000)}\r\n\r\n`, LARGE, 'headers-too-large');

  // Bodies.
  field('a body', 'Content-Length: 5', 'hello');
  field('a body that does not come', 'Content-Length: 5');
  field(
    'a body with a request in it',
    'Content-Length: 31',
    `GET /x HTTP/1.1\r\n${HOST}\r\n${LINE}${good}\r\n`,
  );
  field('a chunked body', 'Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n');
  field('a chunked body of nothing', 'Transfer-Encoding: chunked', '0\r\n\r\n');
  cases.push({
    name: 'a body of HEAD, whose answer has none',
    bytes: `HEAD ${PATH} HTTP/1.1\r\n${good}Content-Length: 5\r\n\r\nhello`,
    statuses: [BAD],
    code: null,
    closes: true,
  });
  field('a negative length', 'Content-Length: -1');
  field('a length with a sign', 'Content-Length: +1');
  field('a hexadecimal length', 'Content-Length: 0x1');
  field('an empty length', 'Content-Length:');
  field('a length beyond all bounds', 'Content-Length: 99999999999999999999');
  field('a list of lengths', 'Content-Length: 0, 0');
  field('two lengths', 'Content-Length: 1\r\nContent-Length: 2', 'xx');
  field('two equal lengths', 'Content-Length: 0\r\nContent-Length: 0');
  field('length and coding', 'Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n');
  field('coding and length', 'Transfer-Encoding: chunked\r\nContent-Length: 5', '0\r\n\r\n');
  field('chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', '0\r\n\r\n');
  field('chunked and then something', 'Transfer-Encoding: chunked, gzip', '0\r\n\r\n');
  field('an empty coding', 'Transfer-Encoding:');
  field('a coding behind a vertical tab', 'Transfer-Encoding: \x0bchunked', '0\r\n\r\n');
  malformed(
    'a coding in HTTP/1.0',
    `POST ${PATH} HTTP/1.0\r\n${good}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  );
  for (const coding of ['xchunked', 'gzip, chunked', 'identity']) {
    const bytes = `${LINE}${good}Transfer-Encoding: ${coding}\r\n\r\n`;
    refused(`the coding ${coding}`, bytes, UNKNOWN, 'transfer-coding-not-implemented');
  }
  const post = `POST ${PATH} HTTP/1.1\r\n${good}`;
  refused('POST with a body', `${post}Content-Length: 5\r\n\r\nhello`, REFUSED, 'method-not-allowed');
  refused(
    'POST with 200 KB',
    `${post}Content-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`,
    REFUSED,
    'method-not-allowed',
  );
  refused(
    'POST with a broken chunk',
    `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    REFUSED,
    'method-not-allowed',
  );
  refused(
    'POST of an unknown coding',
    `${post}Transfer-Encoding: x\r\n\r\n`,
    UNKNOWN,
    'transfer-coding-not-implemented',
  );

  refused(
    'POST with a body where there is nothing',
    `POST /x HTTP/1.1\r\n${good}Content-Length: 5\r\n\r\nhello`,
    '404 Not Found',
    'not-found',
  );
  cases.push({
    name: 'OPTIONS with a body',
    bytes: `OPTIONS ${PATH} HTTP/1.1\r\n${good}Content-Length: 5\r\n\r\nhello`,
    statuses: ['204 No Content'],
    code: null,
    closes: true,
  });

  // Upgrade is ignored (RFC 9110 section 7.8), and the connection can be used again.
  const h2c = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
  answered('Upgrade to WebSocket', `${LINE}${good}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`, OK);
  answered('Upgrade to h2c, as curl and Java send it', `${LINE}${good}${h2c}\r\n`, OK);
  answered('Upgrade without Connection', `${LINE}${good}Upgrade: h2c\r\n\r\n`, OK);
  answered('HEAD with Upgrade', `HEAD ${PATH} HTTP/1.1\r\n${good}${h2c}\r\n`, OK);
  cases.push({
    name: 'Upgrade, and a request right behind it, which node:http drops',
    bytes: `${LINE}${good}${h2c}\r\n`.repeat(2),
    statuses: [OK],
    code: null,
    closes: true,
  });
  field('Upgrade with a body', `${h2c}Content-Length: 5`, 'hello');
  malformed('Upgrade and two Hosts', `${LINE}${HOST}${good}${h2c}\r\n`);
  const expecting = (what: string): string => `${LINE}${good}Expect: ${what}\r\n\r\n`;
  refused('an unknown expectation', expecting('x'), '417 Expectation Failed', 'expectation-failed');
  refused(
    'one expectation more',
    expecting('100-continue, x'),
    '417 Expectation Failed',
    'expectation-failed',
  );
  refused(
    'POST that waits for 100',
    `${post}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
    REFUSED,
    'method-not-allowed',
  );
  return cases;
}

export interface RawOutcome {
  readonly statuses: readonly string[];
  readonly code: string | null;
  readonly closes: boolean;
  /** The last head announces the closing. */
  readonly saysClose: boolean;
  /** Every error is a problem document. */
  readonly areProblems: boolean;
}

/** A request that is answered only on a working connection. */
const PROBE = `GET /probe HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`;

/**
 * Sends the bytes of a case, then another request if the connection should stay open.
 *
 * Rejects if the service neither answers nor closes in time.
 */
export function sendRaw(port: number, { bytes, closes }: RawCase, timeoutMs = 5000): Promise<RawOutcome> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let isProbed = false;
    // Only a test that fails waits so long.
    const timer = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(
          `${JSON.stringify(bytes.slice(-300))}: no answer, and not closed: ${JSON.stringify(text.slice(0, 200))}`,
        ),
      );
    }, timeoutMs);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (closes || isProbed) return;
      isProbed = true;
      socket.write(PROBE);
    });
    // Bytes that the service does not read may reset the connection after the answer.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      const heads = text.split(/(?=HTTP\/1\.1 \d{3} )/).map((answer) => answer.split('\r\n\r\n')[0] ?? '');
      const isAlive = isProbed && text.includes('"instance":"/probe"');
      const own = isAlive ? heads.slice(0, -1) : heads;
      const statuses = own.map((head) => head.slice('HTTP/1.1 '.length).split('\r\n')[0] ?? '');
      const codes = [...text.matchAll(/"code":"([a-z0-9-]+)"/g)].map((match) => match[1] ?? '');
      if (isAlive) codes.pop();
      resolve({
        statuses,
        code: codes.at(-1) ?? null,
        closes: !isAlive,
        saysClose: /\r\nConnection: close(\r\n|$)/.test(own.at(-1) ?? ''),
        areProblems: own.every(
          (head, n) =>
            /^[2]/.test(statuses[n] ?? '') || head.includes('Content-Type: application/problem+json'),
        ),
      });
    });
    socket.write(bytes, 'latin1');
  });
}
