/** A real issuer on its own port, which can be stopped, started and given other keys. */
import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import Provider from 'oidc-provider';
import { freePort } from '../hard/free-port.mjs';

export interface RealIssuer {
  readonly address: string;
  readonly keysAddress: string;
  /** When its key set was requested, by performance.now(). */
  readonly askedMs: readonly number[];
  /** Where clients get tokens. */
  readonly tokenAddress: string;
  /** Tokens so far. */
  readonly issued: number;
  /** The first key signs; all are published. */
  start(...kids: string[]): Promise<void>;
  stop(): Promise<void>;
  /** An access token as in RFC 9068. */
  token(): Promise<string>;
}

export const CLIENT = { id: 'timetable', secret: 'secret-of-the-client' } as const;

/** @param tokenSeconds the life of its tokens */
export async function createRealIssuer(tokenSeconds = 3600): Promise<RealIssuer> {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const keys = new Map<string, JsonWebKey>();
  const askedMs: number[] = [];
  let issued = 0;
  let server: Server | null = null;
  const keyOf = (kid: string): object => {
    const key =
      keys.get(kid) ??
      generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
    keys.set(kid, key);
    return { ...key, kid, use: 'sig', alg: 'RS256' };
  };
  return {
    address,
    keysAddress: `${address}/jwks`,
    askedMs,
    tokenAddress: `${address}/token`,
    get issued() {
      return issued;
    },
    async start(...kids) {
      const handle = createProvider(address, kids.map(keyOf), tokenSeconds).callback();
      const started = createServer((req, res) => {
        if (req.url === '/jwks') askedMs.push(performance.now());
        if (req.url === '/token') res.once('finish', () => (issued += res.statusCode === 200 ? 1 : 0));
        handle(req, res);
      });
      await new Promise<void>((resolve, reject) => {
        started.once('error', reject).listen(port, '127.0.0.1', resolve);
      });
      server = started;
    },
    async stop() {
      const stopped = server;
      server = null;
      if (stopped === null) return;
      stopped.closeAllConnections();
      await new Promise((resolve) => stopped.close(resolve));
    },
    async token() {
      const response = await fetch(`${address}/token`, {
        method: 'POST',
        headers: {
          Authorization: `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`,
        },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
      const { access_token: token } = (await response.json()) as { access_token: string };
      return token;
    },
  };
}

function createProvider(address: string, keys: readonly object[], tokenSeconds: number): Provider {
  const { info, warn } = console;
  // It logs every default that a test has no reason to change.
  Object.assign(console, { info: () => {}, warn: () => {} });
  try {
    return new Provider(address, {
      jwks: { keys },
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      cookies: { keys: ['x'] },
      ttl: { ClientCredentials: () => tokenSeconds },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => 'urn:timetable',
          getResourceServerInfo: () => ({
            scope: '',
            audience: 'timetable',
            accessTokenFormat: 'jwt',
            accessTokenTTL: tokenSeconds,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    });
  } finally {
    Object.assign(console, { info, warn });
  }
}
