/** An issuer on loopback: it rotates its keys, stops and starts, and gives out good and bad tokens. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

export class Issuer {
  #keys = [];
  #count = 0;
  #server = createServer((_req, res) => {
    this.asked++;
    if (this.away) res.destroy();
    else res.end(JSON.stringify({ keys: this.#keys.map(({ jwk }) => jwk) }));
  });
  asked = 0;
  away = false;

  async start() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.rotate();
    return `http://127.0.0.1:${this.#server.address().port}/jwks`;
  }

  /** A new key; the previous one stays valid, the one before that is removed. */
  rotate() {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const kid = `key-${this.#count++}`;
    this.#keys = [
      { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid } },
      ...this.#keys,
    ].slice(0, 2);
  }

  /** @param back 0 for the newest key, 1 for the one before */
  token(claims, back = 0) {
    const { kid, privateKey } = this.#keys[Math.min(back, this.#keys.length - 1)];
    return sealed(
      { alg: 'ES256', kid },
      { exp: Math.floor(Date.now() / 1000) + 3600, ...claims },
      privateKey,
    );
  }

  /** Tokens that must be refused. */
  badTokens(n) {
    const { kid, privateKey } = this.#keys[0];
    const now = Math.floor(Date.now() / 1000);
    const forged = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    return [
      sealed({ alg: 'ES256', kid }, { sub: 'a', exp: now - 60 }, privateKey),
      sealed({ alg: 'ES256', kid }, { sub: 'a', nbf: now + 600, exp: now + 900 }, privateKey),
      sealed({ alg: 'ES256', kid: `forged-${n}` }, { sub: 'a', exp: now + 900 }, forged),
      sealed({ alg: 'ES256', kid }, { sub: `forger-${n}`, exp: now + 900 }, forged),
      `${encode({ alg: 'none' })}.${encode({ sub: 'a', exp: now + 900 })}.`,
      `x.${n}.y`,
    ];
  }

  async stop() {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function sealed(header, claims, key) {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}
