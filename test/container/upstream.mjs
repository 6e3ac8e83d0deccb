/** Serves the timetable and the keys of the Kubernetes example. */
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { generateEvents } from '../../bench/generate.mjs';

export const EVENTS = 1000;

/** @param {{ upstreamToken: string, issuer: string, audience: string }} options as in the manifests */
export async function startUpstream({ upstreamToken, issuer, audience }) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = JSON.stringify({
    keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }],
  });
  const events = JSON.stringify([...generateEvents({ events: EVENTS, seed: 1 })]);
  const server = createServer((req, res) => {
    res.setHeader('Content-Type', 'application/json');
    if (req.url === '/keys') res.end(keys);
    else if (req.headers.authorization === `Bearer ${upstreamToken}`) res.end(events);
    else {
      res.statusCode = 401;
      res.end();
    }
  });
  // Containers come from another address.
  await new Promise((resolve) => server.listen(0, '0.0.0.0', resolve));
  const token = await new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setSubject('somebody')
    .setIssuer(issuer)
    .setAudience(audience)
    .setExpirationTime('10 minutes')
    .sign(privateKey);
  return {
    port: server.address().port,
    token,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
