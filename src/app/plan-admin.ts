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
  const { port, host, allowedHosts = [], tokenFile } = resolveOptions('admin', options);
  if (port === undefined) throw new LecternError('option-invalid', 'the admin listener needs a port');
  const listener = { port, host, allowedHosts };
  if (tokenFile === undefined) return { listener: { ...listener, token: null }, files: [] };
  const token = new AdminToken();
  return { listener: { ...listener, token }, files: [token.keptIn(tokenFile)] };
}
