import type { EventEmitter } from 'node:events';
import type { Client } from 'pg';
import { LecternError } from '../../errors.js';

/**
 * Enforces `channel_binding=require`. The client uses SCRAM-SHA-256-PLUS if the server offers it, and would
 * otherwise log in without binding.
 */
export class BoundLogin {
  #isOffered = false;
  #isDone = false;

  /** Call this before connecting, so that the watch sees each message before the client does. */
  watch(client: Client): void {
    const { connection } = client as unknown as { readonly connection: EventEmitter };
    connection.on('authenticationSASL', ({ mechanisms }: { readonly mechanisms: readonly string[] }) => {
      this.#isOffered = mechanisms.includes('SCRAM-SHA-256-PLUS');
    });
    connection.on('authenticationSASLFinal', () => {
      this.#isDone = true;
    });
  }

  /** Call this before the password is used, because a false server may ask for the password as text. */
  check(): void {
    if (!this.#isOffered) throw unbound();
  }

  /** Call this after connecting, because a false server may not ask for a password at all. */
  checkDone(): void {
    if (!this.#isOffered || !this.#isDone) throw unbound();
  }
}

function unbound(): LecternError {
  return new LecternError(
    'source-unreadable',
    'channel_binding=require needs TLS and a login with SCRAM-SHA-256, and the server offered no SCRAM-SHA-256-PLUS; remove the parameter to connect without it',
  );
}
