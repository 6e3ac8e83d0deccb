import { chmodSync, copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timetableSchema } from './timetable-pages.mjs';
import { bundleWorker } from './worker-text.mjs';

const dist = fileURLToPath(new URL('../dist', import.meta.url));

// Copies the assets of the docs page into the package: users get Swagger UI without installing
// swagger-ui-dist, whose dependency reports installs.
const require = createRequire(import.meta.url);
const from = dirname(require.resolve('swagger-ui-dist/package.json'));
const to = join(dist, 'http/development/swagger-ui');
mkdirSync(to, { recursive: true });
for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png', 'LICENSE', 'NOTICE']) {
  copyFileSync(join(from, file), join(to, file));
}
copyFileSync(join(dist, '../src/cli/column-names.json'), join(dist, 'cli/column-names.json'));
chmodSync(join(dist, 'cli.js'), 0o755);

/** Replaces a compiled module by a module with one constant. Its types stay unchanged. */
function fillIn(module, name, value) {
  writeFileSync(join(dist, module), `export const ${name} = ${JSON.stringify(value)};\n`);
  rmSync(join(dist, `${module}.map`));
}

// Bundled programs find neither package.json nor the thread's module, nor files of data.
const { version } = JSON.parse(readFileSync(join(dist, '../package.json'), 'utf8'));
fillIn('base/version.js', 'VERSION', version);
const zones = new URL('../src/source/calendar/windows-zones.json', import.meta.url);
fillIn('source/calendar/windows-zones.js', 'WINDOWS_ZONES', JSON.parse(readFileSync(zones, 'utf8')));
// Before the threads are bundled, because they hold the names of the pages' files.
await import('./build-pages.mjs');
const load = await bundleWorker(join(dist, 'refresh/thread/task-worker.js'));
fillIn('refresh/thread/worker-text.js', 'WORKER_TEXT', load.text);
writeFileSync(join(dist, 'refresh/thread/worker-text-licences.txt'), load.licences);
const clients = await bundleWorker(join(dist, 'refresh/thread/task-worker.js'), { withClients: true });
fillIn('refresh/thread/client-worker-text.js', 'CLIENT_WORKER_TEXT', clients.text);
writeFileSync(join(dist, 'refresh/thread/client-worker-text-licences.txt'), clients.licences);
const serving = await bundleWorker(join(dist, 'app/serving-worker.js'));
fillIn('app/serving-text.js', 'SERVING_TEXT', serving.text);
writeFileSync(join(dist, 'app/serving-text-licences.txt'), serving.licences);

// The document is written to a file, so that generators of clients need no running service.
const { openApiText } = await import('../dist/cli/openapi-command.js');
writeFileSync(join(dist, 'openapi.json'), openApiText('/api/v1', 'uuid'));

const { TIMETABLE } = await import('../dist/options/timetable-table.js');
const schema = `${JSON.stringify(timetableSchema(TIMETABLE), null, 2)}\n`;
writeFileSync(join(dist, 'timetable.schema.json'), schema);

const note = (name) => new URL(`../node_modules/${name}`, import.meta.url);
renameSync(note('.lectern-build-began'), note('.lectern-built'));
