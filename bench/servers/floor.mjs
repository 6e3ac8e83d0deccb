/** The floor: bare node:http with one constant answer. Argument: JSON of { status, headers, bodyFile }. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { underMeasurement } from './measured.mjs';

const { status, headers, bodyFile } = JSON.parse(process.argv[2]);
const body = readFileSync(bodyFile);
underMeasurement(
  createServer((_req, res) => {
    res.writeHead(status, headers);
    if (status === 304) res.end();
    else res.end(body);
  }),
);
