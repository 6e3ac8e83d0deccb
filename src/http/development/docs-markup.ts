/** The docs page, with relative links, because a proxy may add a prefix. @param assets `./` or `./docs/` */
export function docsHtml(assets: string): string {
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

export const DOCS_CSS = `body { margin: 0; background: #fafafa; }
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
export const DOCS_INITIALIZER = `'use strict';
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
