import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The docs page's assets are copied into the package: whoever installs Lectern gets Swagger UI without
// installing swagger-ui-dist, which brings a dependency that reports installs.
const require = createRequire(import.meta.url);
const from = dirname(require.resolve('swagger-ui-dist/package.json'));
const to = fileURLToPath(new URL('../dist/http/docs/swagger-ui/', import.meta.url));
mkdirSync(to, { recursive: true });
for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png', 'LICENSE', 'NOTICE']) {
  copyFileSync(join(from, file), join(to, file));
}
chmodSync(new URL('../dist/cli.js', import.meta.url), 0o755);
