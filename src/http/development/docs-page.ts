/** Room http/development/. What exists in development only: /login, /docs, /health. Production has no route to it. */

/** GET {base}/docs, in development: Swagger UI, its files and the OpenAPI document. */
import { hash } from 'node:crypto';
import type { IdentifierMode } from '../../model/event.js';
import { createOpenApiDocument } from '../../openapi/document.js';
import { matchesEntityTag } from '../answer/conditional.js';
import { sendBytes, sendEmpty } from '../answer/respond.js';
import type { Exchange } from '../exchange.js';
import type { OpenRoute } from '../routes.js';
import { type Asset, readSwaggerUiAssets } from './docs-assets.js';
import { DOCS_CSS, DOCS_INITIALIZER, docsHtml } from './docs-markup.js';

/** Nothing from elsewhere, nothing inline but styles, which Swagger UI sets on its elements. */
export const DOCS_CONTENT_SECURITY_POLICY: string =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/** An asset with everything that can be known before it is asked for. */
interface StaticResource extends Asset {
  /** A strong entity tag (RFC 9110 section 8.8.3): of these bytes. */
  readonly entityTag: string;
}

export function docsRoutes(options: {
  readonly basePath: string;
  readonly identifiers: IdentifierMode;
  readonly version: string;
  /** Address of the folder of Swagger UI's files; see {@link readSwaggerUiAssets}. */
  readonly assetsFolder?: string | undefined;
}): OpenRoute[] {
  const path = `${options.basePath}/docs`;
  const folder = options.assetsFolder === undefined ? undefined : new URL(options.assetsFolder);
  const html = 'text/html; charset=utf-8';
  const below = toResource('docs', html, docsHtml('./'));
  const beside = toResource('docs', html, docsHtml('./docs/'));
  const document = JSON.stringify(createOpenApiDocument(options));
  const files = [
    ...readSwaggerUiAssets(folder).map((asset) => withEntityTag(asset)),
    toResource('lectern.css', 'text/css; charset=utf-8', DOCS_CSS),
    toResource('initializer.js', 'text/javascript; charset=utf-8', DOCS_INITIALIZER),
    toResource('openapi.json', 'application/json; charset=utf-8', document),
  ];
  return [
    // The address with a trailing slash is another base for relative links.
    {
      kind: 'open',
      label: '/docs',
      path,
      handle: (exchange) => send(exchange, exchange.path.endsWith('/') ? below : beside),
    },
    ...files.map(
      (file): OpenRoute => ({
        kind: 'open',
        label: '/docs',
        path: `${path}/${file.name}`,
        handle: (exchange) => send(exchange, file),
      }),
    ),
  ];
}

function toResource(name: string, contentType: string, text: string): StaticResource {
  return withEntityTag({ name, contentType, bytes: Buffer.from(text, 'utf8') });
}

function withEntityTag(asset: Asset): StaticResource {
  return { ...asset, entityTag: `"${hash('sha256', asset.bytes, 'base64url').slice(0, 22)}"` };
}

function send(exchange: Exchange, resource: StaticResource): void {
  exchange.fields = exchange.fields.withoutPolicy;
  const headers = [
    'ETag',
    resource.entityTag,
    'Cache-Control',
    'no-cache',
    'Content-Security-Policy',
    DOCS_CONTENT_SECURITY_POLICY,
    'Referrer-Policy',
    'no-referrer',
  ];
  const { ifNoneMatch } = exchange.headers;
  if (ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, resource.entityTag)) {
    sendEmpty(exchange, 304, headers);
    return;
  }
  headers.push('Content-Type', resource.contentType, 'Content-Length', String(resource.bytes.byteLength));
  sendBytes(exchange, 200, headers, resource.bytes);
}
