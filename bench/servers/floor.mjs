/** The floor: bare node:http with one constant answer. Argument: JSON of { status, headers, bodyBytes }. */
import { createServer } from 'node:http';
import { underMeasurement } from './measured.mjs';

const { status, headers, bodyBytes } = JSON.parse(process.argv[2]);
const body = Buffer.alloc(bodyBytes, 'x');
underMeasurement(
  createServer((_req, res) => {
    res.writeHead(status, headers);
    if (status === 304) res.end();
    else res.end(body);
  }),
);
