const ENTRIES_MAX = 1000;

/** Verifies bearer tokens, and remembers good ones until they expire. It is for peers whose packages have no such cache. */
export class TokenCache {
  #expiryMs = new Map();

  /** @returns whether this token was verified before and has not expired */
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
 * The hook of a Fastify route that requires a token.
 *
 * @param {(token: string) => object} verify returns the claims of a good token, otherwise throws. Callers
 * pass fast-jwt with its own cache: @fastify/jwt decodes the token for each request before it looks into that
 * cache, which takes several times as long
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
