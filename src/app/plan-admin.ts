import { LecternError } from '../errors.js';
import type { KeptFile } from '../files/kept-files.js';
import type { AdminListenerOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import { AdminToken } from './admin-token.js';
import type { AdminOptions } from './open-admin.js';

/** The address of the admin listener, the hosts that it answers, and the files that it reads. */
export interface AdminPlan {
  readonly listener: Pick<AdminOptions, 'port' | 'host' | 'allowedHosts' | 'token'>;
  readonly files: readonly KeptFile[];
}

/** @throws LecternError `option-invalid`, `key-invalid` */
export function planAdmin(options: AdminListenerOptions): AdminPlan {
  const { port, host, allowedHosts = [], token: given, tokenFile } = resolveOptions('admin', options);
  if (port === undefined) throw new LecternError('option-invalid', 'the admin listener needs a port');
  const token = given === undefined && tokenFile === undefined ? null : new AdminToken();
  if (given !== undefined) token?.set(given);
  const files = token === null || tokenFile === undefined ? [] : [token.keptIn(tokenFile)];
  return { listener: { port, host, allowedHosts, token }, files };
}
