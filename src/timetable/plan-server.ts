/** From the options of `serve()` to plain data, which every serving thread makes a handler of. */
import { AdminToken } from '../admin/admin-token.js';
import { createDevelopmentSecret } from '../auth/development-issuer.js';
import { LecternError } from '../errors.js';
import { findSwaggerUi } from '../http/development/docs-assets.js';
import type { IdentifierMode } from '../model/event.js';
import type { AdminListenerOptions, ServeOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { HandlerPlan } from '../serving/handler-plan.js';
import { threadsOf } from '../serving/worker-count.js';
import { VERSION } from '../version.js';
import type { ParseOptions } from '../view/view.js';
import { planAuth } from './plan-auth.js';

/** What a server takes over from its timetable. */
export interface Reading extends ParseOptions {
  readonly identifiers: IdentifierMode;
}

export interface ServerPlan {
  readonly plan: HandlerPlan;
  readonly host: string;
  readonly port: number;
  /** Serving threads. */
  readonly workers: number;
  readonly connectionsMax: number;
  readonly overloadMs: number;
  /** Null where there is no admin listener. */
  readonly admin: AdminPlan | null;
}

export interface AdminPlan {
  readonly port: number;
  readonly host: string;
  /** Host names that requests may have, besides IP addresses, localhost and `host`. */
  readonly allowedHosts: readonly string[];
  readonly token: AdminToken | null;
}

/** @throws LecternError `option-invalid`, `key-missing`, `key-invalid` */
export function planServer(options: ServeOptions, { unknownParameters, identifiers }: Reading): ServerPlan {
  const settings = resolveOptions('serve', options);
  const { auth, mode, host, port, workers, connectionsMax, overloadMs, basePath, admin } = settings;
  const isDevelopment = mode === 'development';
  if (auth === undefined && !isDevelopment) {
    throw new LecternError('key-missing', 'serve() needs auth, with a key: hs256Secret or jwks');
  }
  const plan: HandlerPlan = {
    auth: planAuth('serve', auth ?? {}, identifiers, !isDevelopment),
    basePath,
    unknownParameters,
    version: VERSION,
    corsOrigins: settings.corsOrigins ?? [],
    accessLogShare: settings.accessLog,
    development: isDevelopment
      ? { secret: createDevelopmentSecret(), docsAssets: findSwaggerUi().href }
      : null,
  };
  return {
    plan,
    host,
    port,
    workers: threadsOf(workers),
    connectionsMax,
    overloadMs,
    admin: admin === undefined ? null : planAdmin(admin),
  };
}

function planAdmin(options: AdminListenerOptions): AdminPlan {
  const { port, host, allowedHosts = [], token } = resolveOptions('admin', options);
  if (port === undefined) throw new LecternError('option-invalid', 'serve({ admin }) needs a port');
  return {
    port,
    host,
    allowedHosts,
    token: token === undefined ? null : new AdminToken(token, 'admin.token'),
  };
}
