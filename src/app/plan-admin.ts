import { hash, timingSafeEqual } from 'node:crypto';
import { LecternError, optionInvalid } from '../base/errors.js';
import { type KeptFile, keptText } from '../base/files/kept-files.js';
import { ADMIN_TOKEN_CHARACTERS_MIN, ADMIN_TOKEN_FILE_BYTES_MAX } from '../base/limits.js';
import { tokenFault } from '../http/request/credential.js';
import type { AdminListenerOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';

/** The address of the admin listener, the hosts that it answers, and the files that it reads. */
export interface AdminPlan {
  readonly listener: {
    readonly host: string;
    readonly port: number;
    readonly allowedHosts: readonly string[];
    /** The token of POST /refresh; null if there is no such resource. */
    readonly token: AdminToken | null;
  };
  readonly files: readonly KeptFile[];
}

/** @throws LecternError `option-invalid`, `key-invalid` */
export function planAdmin(options: AdminListenerOptions): AdminPlan {
  const { port, host, allowedHosts = [], tokenFile } = resolveOptions('admin', options);
  if (port === undefined) throw optionInvalid('the admin listener needs a port');
  const listener = { port, host, allowedHosts };
  if (tokenFile === undefined) return { listener: { ...listener, token: null }, files: [] };
  const token = new AdminToken();
  return { listener: { ...listener, token }, files: [token.keptIn(tokenFile)] };
}

/** The token that is valid now, of which only the digest is kept. */
export class AdminToken {
  #digest: Buffer | null = null;

  keptIn(path: string): KeptFile {
    const name = `the admin token file ${path}`;
    const file = { path, name, bytesMax: ADMIN_TOKEN_FILE_BYTES_MAX, code: 'key-invalid' } as const;
    return keptText('admin-tokens', file, (text) => {
      const token = text.replace(/\r?\n$/, '');
      const fault = tokenFault(token, ADMIN_TOKEN_CHARACTERS_MIN);
      if (fault !== null) throw new LecternError('key-invalid', `${name} is invalid: ${fault}`);
      return () => {
        this.#digest = digestOf(token);
      };
    });
  }

  /** Whether a text is the token. The comparison takes the same time for all texts of one length. */
  equals(token: string): boolean {
    return this.#digest !== null && timingSafeEqual(digestOf(token), this.#digest);
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
