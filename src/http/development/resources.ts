/**
 * Folder http/development/. Resources of development mode: /docs, /health, and /login, which gives every client a test
 * token. Production has no route to them.
 */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { keptBody } from '../../answer/body.js';
import { describeHealth } from '../../answer/describe-health.js';
import type { ViewSource } from '../../answer/present.js';
import type { ParameterPairs, ParseOptions, View } from '../../answer/view.js';
import type { DevelopmentIssuer } from '../../auth/development-issuer.js';
import { type ClaimTable, canonicalValue } from '../../auth/identity.js';
import type { ParameterFault, ParameterFaultCode } from '../../base/errors.js';
import { PARAMETER_FAULTS_MAX, PARAMETER_VALUES_MAX } from '../../base/limits.js';
import type { IdentifierMode } from '../../base/model/event.js';
import type { IdentityFieldName } from '../../base/model/fields.js';
import { describeIdentifier } from '../../base/model/identifier.js';
import { suggest } from '../../base/model/suggest.js';
import { matchedEntityTag } from '../answer/conditional.js';
import { sendProblem } from '../answer/problem.js';
import { sendBody, sendEmpty, sendText } from '../answer/respond.js';
import type { Exchange } from '../exchange.js';
import { sendSnapshotUnavailable } from '../read.js';
import { parseQueryString } from '../request/target.js';
import type { OpenRoute } from '../routes.js';

/** Allows only files of the package, and inline styles, because Swagger UI sets styles on its elements. */
const CONTENT_SECURITY_POLICY: string =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/** A fixed list, so that the path of a request never becomes the path of a file. */
const SWAGGER_UI_FILES: readonly (readonly [name: string, contentType: string])[] = [
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
];

/** @throws if a file is missing from the package */
export function docsRoutes(options: {
  readonly basePath: string;
  readonly identifiers: IdentifierMode;
  readonly version: string;
  /** Address of the folder with Swagger UI's files, for bundled code, which cannot find the folder itself. */
  readonly docsAssets?: string | undefined;
}): OpenRoute[] {
  const path = `${options.basePath}/docs`;
  const folder = options.docsAssets === undefined ? findSwaggerUi() : new URL(options.docsAssets);
  const html = 'text/html; charset=utf-8';
  const below = staticSender(html, docsHtml('./'));
  const beside = staticSender(html, docsHtml('./docs/'));
  // The document is made on first use, because most processes never need its modules.
  let document: Promise<ReturnType<typeof staticSender>> | null = null;
  const makeDocument = async (): Promise<ReturnType<typeof staticSender>> => {
    const { createOpenApiDocument } = await import('../openapi/document.js');
    return staticSender('application/json; charset=utf-8', JSON.stringify(createOpenApiDocument(options)));
  };
  const route = (name: string, handle: OpenRoute['handle']): OpenRoute => {
    return { kind: 'open', label: '/docs', path: `${path}${name}`, handle };
  };
  return [
    // A trailing slash changes the base of relative links.
    route('', (exchange) => (exchange.path.endsWith('/') ? below(exchange) : beside(exchange))),
    ...SWAGGER_UI_FILES.map(([name, contentType]) =>
      route(`/${name}`, staticSender(contentType, readFileSync(new URL(name, folder)))),
    ),
    route('/lectern.css', staticSender('text/css; charset=utf-8', DOCS_CSS)),
    route('/initializer.js', staticSender('text/javascript; charset=utf-8', DOCS_INITIALIZER)),
    route('/openapi.json', async (exchange) => {
      document ??= makeDocument();
      (await document)(exchange);
    }),
  ];
}

/** The folder of Swagger UI: a copy in the package; in a checkout, the development dependency. */
export function findSwaggerUi(): URL {
  const packaged = new URL('./swagger-ui/', import.meta.url);
  if (existsSync(packaged)) return packaged;
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  return new URL('./', pathToFileURL(manifest));
}

function staticSender(contentType: string, content: string | Buffer): (exchange: Exchange) => void {
  const bytes = Buffer.from(content);
  // A strong entity tag (RFC 9110 section 8.8.3).
  const entityTag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
  return (exchange) => {
    exchange.fields = exchange.fields.withoutPolicy ?? exchange.fields;
    const headers = Object.entries({
      ETag: entityTag,
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'Referrer-Policy': 'no-referrer',
    }).flat();
    const { ifNoneMatch } = exchange.headers;
    if (ifNoneMatch !== undefined && matchedEntityTag(ifNoneMatch, entityTag) !== null) {
      sendEmpty(exchange, 304, headers);
      return;
    }
    headers.push('Content-Type', contentType, 'Content-Length', String(bytes.length));
    sendBody(exchange, 200, headers, keptBody(bytes));
  };
}

/** The docs page, with relative links, because a proxy may add a prefix. @param assets `./` or `./docs/` */
function docsHtml(assets: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Lectern</title>
    <link rel="icon" type="image/png" href="${assets}favicon-32x32.png">
    <link rel="stylesheet" href="${assets}swagger-ui.css">
    <link rel="stylesheet" href="${assets}lectern.css">
  </head>
  <body>
    <header class="lectern-header">
      <h1>Lectern</h1>
      <p id="lectern-status" role="status">Fetching a test token …</p>
    </header>
    <main id="swagger-ui"></main>
    <noscript><p>This page needs JavaScript. The <a href="${assets}openapi.json">OpenAPI document</a> does not.</p></noscript>
    <script src="${assets}swagger-ui-bundle.js"></script>
    <script src="${assets}initializer.js"></script>
  </body>
</html>
`;
}

const DOCS_CSS = `body { margin: 0; background: #fafafa; }
.lectern-header {
  display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1.5rem;
  padding: 0.9rem 1.5rem; background: #1f3a4d; color: #fff; font-family: system-ui, sans-serif;
}
.lectern-header h1 { margin: 0; font-size: 1.35rem; letter-spacing: 0.02em; }
.lectern-header p { margin: 0; font-size: 0.9rem; color: #cfe0ea; }
.swagger-ui .info { margin: 1.5rem 0; }
/* Long types of parameters would touch their descriptions. */
.swagger-ui table td.parameters-col_name { padding-right: 1rem; }
.swagger-ui .info summary { cursor: pointer; }
.swagger-ui .info table { width: auto; }
.swagger-ui .info td { padding: 0.25rem 1.5rem 0.25rem 0; }
`;

/** A script for the browser, in a file of its own, because the policy allows no inline scripts. */
const DOCS_INITIALIZER = `'use strict';
(() => {
  const here = document.currentScript.src;
  const status = document.getElementById('lectern-status');

  async function authorise(ui) {
    try {
      const response = await fetch(new URL('../login', here), { cache: 'no-store' });
      const body = await response.json();
      if (!response.ok) throw new Error(body.detail || response.statusText);
      ui.preauthorizeApiKey('bearerAuth', body.access_token);
      status.textContent = 'Authorised with a test token: every "Execute" works at once.';
    } catch (error) {
      status.textContent = 'No test token: ' + error.message + ' Reload the page to try again.';
    }
  }

  // Items that are UUIDs get a plain text input. Without this, Swagger UI warns.
  const identifierInput = (system) => ({
    components: {
      JsonSchema_string_uuid: (props) =>
        system.React.createElement(props.getComponent('JsonSchema_string'), props),
    },
  });

  window.ui = SwaggerUIBundle({
    url: new URL('openapi.json', here).href,
    dom_id: '#swagger-ui',
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [identifierInput],
    layout: 'BaseLayout',
    deepLinking: true,
    tryItOutEnabled: true,
    persistAuthorization: false,
    displayRequestDuration: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    onComplete: () => authorise(window.ui),
  });
})();
`;

/** 200 while there is a snapshot to serve, even if the source fails; otherwise 503. */
export function healthRoute(views: ViewSource, version: string): OpenRoute {
  return {
    kind: 'open',
    label: '/health',
    path: '/health',
    handle(exchange) {
      const headers = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'];
      const isServing = views.summary !== null && views.publication !== null;
      if (!isServing) headers.push('Retry-After', '2');
      sendText(
        exchange,
        isServing ? 200 : 503,
        headers,
        JSON.stringify({ ...describeHealth(views, version), ...describeLoad(views) }),
      );
    },
  };
}

type ValuesByField = Partial<Record<IdentityFieldName, string[]>>;

export function loginRoute(
  views: ViewSource,
  basePath: string,
  { unknownParameters }: ParseOptions,
  { issuer, identifiers }: { readonly issuer: DevelopmentIssuer; readonly identifiers: IdentifierMode },
): OpenRoute {
  const { table } = issuer;
  const known = ['sub', ...table.map((row) => row.field.name)];
  return {
    kind: 'open',
    label: '/login',
    path: `${basePath}/login`,
    async handle(exchange) {
      const { view } = views;
      if (view === null) {
        sendSnapshotUnavailable(exchange, views);
        return;
      }
      const query = parseQueryString(exchange.query);
      const pairs = query.pairs.filter(([name]) => unknownParameters === 'reject' || known.includes(name));
      const { subject, values, faults } = parseLogin(pairs, table, known, identifiers);
      if (query.faults.length > 0 || faults.length > 0) {
        sendProblem(exchange, {
          code: 'parameters-invalid',
          detail: 'The query parameters are not valid; see "errors".',
          errors: [...query.faults, ...faults],
        });
        return;
      }
      const { token, expiresInSeconds } = await issuer.issue({
        subject,
        values: pairs.length === 0 ? sampleValues(view, table) : values,
      });
      sendText(
        exchange,
        200,
        ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'],
        JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: expiresInSeconds }),
      );
    },
  };
}

/** Accepts `sub` once, and every field that has a claim any number of times. */
function parseLogin(
  pairs: ParameterPairs,
  table: ClaimTable,
  known: readonly string[],
  mode: IdentifierMode,
): { subject: string | undefined; values: ValuesByField; faults: readonly ParameterFault[] } {
  const faults: ParameterFault[] = [];
  const values: ValuesByField = {};
  let subject: string | undefined;
  for (const [name, value] of pairs) {
    if (faults.length === PARAMETER_FAULTS_MAX) break;
    const refuse = (code: ParameterFaultCode, detail: string): void => {
      faults.push({ parameter: name, code, detail });
    };
    const field = table.find((row) => row.field.name === name)?.field;
    if (name !== 'sub' && field === undefined) {
      const near = suggest(name, known);
      const hint = near === null ? `its parameters are ${known.join(', ')}` : `did you mean ${near}?`;
      refuse('unknown-parameter', `there is no parameter of this name here: ${hint}`);
    } else if (value === '') refuse('empty-value', `${name} has no value; leave it out`);
    else if (field === undefined) {
      if (subject !== undefined)
        refuse('repeated-parameter', 'sub may be given once: a token has one subject');
      subject = value;
    } else {
      const canonical = canonicalValue(value, field, mode);
      if (canonical === null) {
        if (field.kind === 'identifier')
          refuse('malformed-identifier', `the value is not ${describeIdentifier(mode)}`);
        else refuse('malformed-text', 'the value is not well-formed text');
        continue;
      }
      values[field.name] ??= [];
      if (values[field.name]?.push(canonical) === PARAMETER_VALUES_MAX + 1)
        refuse('too-many-values', `at most ${PARAMETER_VALUES_MAX} values of ${name} are allowed`);
    }
  }
  return { subject, values, faults };
}

/** A value from the data set, so that /schedule/personal shows events. Fields with a default claim go first. */
function sampleValues(view: View, table: ClaimTable): ValuesByField {
  const rows = [...table].sort(
    (a, b) => Number(b.field.claims.length > 0) - Number(a.field.claims.length > 0),
  );
  for (const { field } of rows) {
    const value = view.sampleValue(field.name);
    if (value !== null) return { [field.name]: [value] };
  }
  return {};
}

const SAMPLES_MAX = 3;

/** What the last load left out and why, and the columns that it did not use, for those who begin with their own data. */
function describeLoad({ summary }: ViewSource): object {
  if (summary === null) return { leftOut: [], unserved: [] };
  const { rejectedByCode, rejections, unserved } = summary;
  const leftOut = Object.entries(rejectedByCode)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => ({
      code,
      count,
      samples: rejections
        .filter((rejection) => rejection.code === code)
        .slice(0, SAMPLES_MAX)
        .map(({ position, detail }) => `${placeOf(position)}: ${detail}`),
    }));
  return { leftOut, unserved: unserved.fields };
}

function placeOf(position: object): string {
  const known = Object.entries(position).filter(([, value]) => value !== null && value !== undefined);
  return known.map(([name, value]) => `${name} ${value}`).join(', ');
}
