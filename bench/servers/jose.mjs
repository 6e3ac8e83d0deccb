/**
 * The floor of a token's first request: bare node:http verifies the token with jose, as Lectern does, and
 * sends one constant answer. Nothing is remembered. Arguments: JSON of { status, headers, bodyFile }, secret.
 */

import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { jwtVerify } from 'jose';
import { underMeasurement } from './measured.mjs';

const { status, headers, bodyFile } = JSON.parse(process.argv[2]);
// The cheapest form, because jose would import a KeyObject again for every token.
const key = await webcrypto.subtle.importKey(
  'raw',
  Buffer.from(process.argv[3]),
  { name: 'HMAC', hash: 'SHA-256' },
  false,
  ['verify'],
);
const body = readFileSync(bodyFile);
underMeasurement(
  createServer((req, res) => {
    const token = req.headers.authorization.slice('Bearer '.length);
    jwtVerify(token, key, {
      algorithms: ['HS256'],
      requiredClaims: ['exp', 'sub'],
      clockTolerance: 5,
      currentDate: new Date(),
    }).then(
      () => {
        res.writeHead(status, headers);
        res.end(body);
      },
      () => {
        res.writeHead(401);
        res.end();
      },
    );
  }),
);
