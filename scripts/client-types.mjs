/**
 * Writes src/client/api.ts, the types of `lectern/client`, from the OpenAPI document:
 *
 *     npm run client:types
 *
 * openapi-typescript needs the compiler API of TypeScript 5, which TypeScript 7 does not have. So both are
 * fetched for this script alone, and are no dependency of the project.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApiText } from '../dist/cli/openapi-command.js';
import { documentDigest } from './document-digest.mjs';

const TARGET = fileURLToPath(new URL('../src/client/api.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lectern-types-'));
const [from, to] = [join(folder, 'openapi.json'), join(folder, 'api.ts')];
try {
  const text = openApiText('/api/v1', 'uuid');
  writeFileSync(from, text);
  const packages = ['openapi-typescript@7.13.0', 'typescript@5.9.3'].map((name) => `--package=${name}`);
  const { status } = spawnSync(
    'npm',
    ['exec', '--yes', ...packages, '--', 'openapi-typescript', from, '-o', to],
    { stdio: 'inherit', cwd: folder },
  );
  if (status !== 0) process.exit(1);
  writeFileSync(
    TARGET,
    `// Made from the OpenAPI document ${documentDigest(text)}.\n${readFileSync(to, 'utf8')}`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
