const ENTRIES_MAX = 1000;

/**
 * Verification of bearer tokens that remembers the good ones until they expire. For the peers whose packages have no cache
 * of their own.
 */
export class TokenCache {
  #expiryMs = new Map();

  /** @returns whether this token was found good before and has not expired since */
  has(token) {
    const expiryMs = this.#expiryMs.get(token);
    if (expiryMs === undefined) return false;
    if (expiryMs > Date.now()) return true;
    this.#expiryMs.delete(token);
    return false;
  }

  /** @param {number} exp as in the token, in seconds */
  add(token, exp) {
    if (this.#expiryMs.size >= ENTRIES_MAX) this.#expiryMs.delete(this.#expiryMs.keys().next().value);
    this.#expiryMs.set(token, exp * 1000);
  }
}

/** @returns the token of an Authorization header field, or undefined */
export function bearerOf(authorization) {
  return authorization?.startsWith('Bearer ') ? authorization.slice(7) : undefined;
}

/**
 * The hook of a route of Fastify that asks for a token.
 *
 * @param {(token: string) => object} verify returns the claims of a good token, else throws. It is fast-jwt's own, with its
 *   cache: @fastify/jwt decodes the token again for each request before it asks that cache, which takes several times as long
 */
export function requireToken(verify) {
  return (request, reply, done) => {
    try {
      request.user = verify(bearerOf(request.headers.authorization) ?? '');
    } catch {
      reply.code(401).header('WWW-Authenticate', 'Bearer').send();
      return;
    }
    done();
  };
}
