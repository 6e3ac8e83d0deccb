/** Finds the user of a request by its bearer token: at once for known tokens, otherwise after verification. */
import type { Socket } from 'node:net';
import type {
  AuthenticatedUser,
  Authentication,
  Authenticator,
  RememberedUser,
} from '../auth/authenticator.js';
import { CELL } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import { bearerChallenge, sendProblem } from './answer/problem.js';
import type { Exchange } from './exchange.js';
import type { Logger } from './logger.js';
import { readCredential } from './request/credential.js';
import { sendRefusal } from './server/refusal.js';

export interface TokenCheckOptions {
  readonly authenticator: Authenticator;
  readonly meter: Meter | null;
  readonly log: Logger | undefined;
  /**
   * Called for each request that is refused because too many tokens are being verified. The meter does not
   * count these requests.
   */
  readonly onRefusal: (() => void) | undefined;
}

const REALM = 'lectern';

/**
 * Shortest time between two log lines with the same message, because bad tokens may come a thousand times a
 * second.
 */
const LOG_MS = 60_000;

export class TokenCheck {
  readonly #options: TokenCheckOptions;
  /** The user of the last request of each connection. Clients repeat their header, and comparing costs less than hashing. */
  readonly #lastUsers = new WeakMap<
    Socket,
    { readonly authorization: string | undefined; readonly user: RememberedUser }
  >();
  readonly #loggedMs = new Map<string, number>();

  constructor(options: TokenCheckOptions) {
    this.#options = options;
  }

  /** Refuses a request with several credentials, and closes its connection. @returns whether it was refused */
  refusesRepeated(exchange: Exchange): boolean {
    const { authorization, authorizations } = exchange.headers;
    if (authorizations <= 1) return false;
    const credential = readCredential(authorization, authorizations);
    if (credential.kind !== 'malformed') return false;
    exchange.closeAfterAnswer();
    this.#refuseMalformed(exchange, credential.detail);
    return true;
  }

  /** Calls `onUser` at once for a known token, otherwise after verification. Refuses missing and unverified tokens. */
  authenticate(exchange: Exchange, onUser: (user: AuthenticatedUser) => void): Promise<void> | undefined {
    const { authenticator, meter } = this.#options;
    const { socket } = exchange.req;
    const { authorization, authorizations } = exchange.headers;
    const last = this.#lastUsers.get(socket);
    if (last !== undefined && last.authorization === authorization && authorizations === 1) {
      if (authenticator.isUsable(last.user)) {
        meter?.add(CELL.tokenHits);
        onUser(last.user.value);
        return undefined;
      }
      this.#lastUsers.delete(socket);
    }
    const credential = readCredential(authorization, authorizations);
    if (credential.kind === 'token') {
      const user = authenticator.lookup(credential.token);
      if (user !== undefined) {
        this.#lastUsers.set(socket, { authorization, user });
        meter?.add(CELL.tokenHits);
        onUser(user.value);
        return undefined;
      }
      meter?.add(CELL.tokenMisses);
      exchange.awaitAnswer();
      return authenticator.verify(credential.token).then((authentication) => {
        if (authentication.outcome === 'ok') onUser(authentication.user);
        else this.#refuse(exchange, authentication);
      });
    }
    if (credential.kind === 'missing') {
      meter?.failed('missing');
      sendProblem(exchange, {
        code: 'credentials-missing',
        detail: 'Send a token in the header "Authorization: Bearer <token>".',
        headers: ['WWW-Authenticate', bearerChallenge(REALM)],
      });
    } else this.#refuseMalformed(exchange, credential.detail);
    return undefined;
  }

  #refuseMalformed(exchange: Exchange, detail: string): void {
    this.#options.meter?.failed('malformed');
    sendProblem(exchange, {
      code: 'invalid-request',
      detail,
      headers: ['WWW-Authenticate', bearerChallenge(REALM, 'invalid_request', detail)],
    });
  }

  #refuse(exchange: Exchange, authentication: Exclude<Authentication, { readonly outcome: 'ok' }>): void {
    const { meter, onRefusal } = this.#options;
    switch (authentication.outcome) {
      case 'invalid':
        meter?.failed(authentication.reason);
        sendProblem(exchange, {
          code: 'token-invalid',
          detail: authentication.description,
          headers: ['WWW-Authenticate', bearerChallenge(REALM, 'invalid_token', authentication.description)],
        });
        return;
      case 'unavailable':
        meter?.failed('unavailable');
        this.#warn('a token cannot be verified', { reason: authentication.description });
        sendProblem(exchange, {
          code: 'keys-unavailable',
          detail:
            'The keys that verify tokens are not available at the moment. Retry-After says when to ask again.',
          headers: ['Retry-After', String(authentication.retryAfterSeconds)],
        });
        return;
      case 'overloaded':
        onRefusal?.();
        this.#warn('too many tokens to verify: requests are refused', {});
        sendRefusal(exchange.req, exchange.makeResponse(), exchange.fields);
    }
  }

  #warn(message: string, fields: object): void {
    const nowMs = performance.now();
    if (nowMs - (this.#loggedMs.get(message) ?? Number.NEGATIVE_INFINITY) < LOG_MS) return;
    this.#loggedMs.set(message, nowMs);
    this.#options.log?.warn(fields, message);
  }
}
