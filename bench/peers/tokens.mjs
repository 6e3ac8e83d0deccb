import { jwtVerify } from 'jose';

const ENTRIES_MAX = 1000;

/**
 * Verifies bearer tokens with jose, as Lectern does, and remembers good ones until they expire. Every peer that answers
 * with events uses it, so that the peers differ only in how they find the events.
 *
 * @param {string} secret
 * @returns {(authorization: string | undefined) => true | Promise<boolean>} true at once for a token that was good before
 */
export function verifierOf(secret) {
  const key = new TextEncoder().encode(secret);
  const expiryMs = new Map();
  const verify = async (token) => {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        requiredClaims: ['sub', 'exp'],
      });
      if (expiryMs.size >= ENTRIES_MAX) expiryMs.delete(expiryMs.keys().next().value);
      expiryMs.set(token, payload.exp * 1000);
      return true;
    } catch {
      expiryMs.delete(token);
      return false;
    }
  };
  return (authorization) => {
    const token = authorization?.startsWith('Bearer ') ? authorization.slice(7) : '';
    return (expiryMs.get(token) ?? 0) > Date.now() ? true : verify(token);
  };
}

/** The hook of a Fastify route that requires a token. @param {string} secret */
export function requireToken(secret) {
  const verify = verifierOf(secret);
  return (request, reply, done) => {
    const isGood = verify(request.headers.authorization);
    if (isGood === true) {
      done();
      return;
    }
    isGood.then((isGoodNow) => {
      if (isGoodNow) done();
      else reply.code(401).header('WWW-Authenticate', 'Bearer').send();
    });
  };
}
