import { hash, timingSafeEqual } from 'node:crypto';
import { LecternError } from '../errors.js';
import type { KeptFile, Take } from '../files/kept-files.js';
import { keptTexts } from '../files/kept-texts.js';
import { tokenFault } from '../http/request/credential.js';
import { ADMIN_TOKEN_CHARACTERS_MIN, ADMIN_TOKEN_FILE_BYTES_MAX } from '../limits.js';

/** The token that is valid now, of which only the digest is kept. */
export class AdminToken {
  #digest: Buffer | null = null;

  keptIn(path: string): KeptFile {
    const name = `the admin token file ${path}`;
    const file = { path, name, bytesMax: ADMIN_TOKEN_FILE_BYTES_MAX, code: 'key-invalid' } as const;
    return keptTexts('admin-tokens', [file], ([text = '']): Take => {
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
