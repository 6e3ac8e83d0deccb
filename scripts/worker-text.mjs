import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Modules that threads never use, and their replacements. The modules together would be two thirds of the text. */
const STAND_INS = {
  // fast-json-stringify validates only for alternatives in a schema (anyOf, if); the schema of an event has none.
  ajv: 'module.exports = class Ajv { constructor() { throw new Error("the schema needs a validator, which was left out of this bundle"); } };',
  'ajv-formats': 'module.exports = () => {};',
  'fast-uri': 'module.exports = {};',
  // msgpackr works without its native part if that cannot be loaded.
  'msgpackr-extract': 'throw new Error("native modules cannot be bundled");',
};

/** Clients of databases and stores, and the engines of JSONata and of patterns. Threads that use a client get another text, because few services need one. */
const CLIENTS = [
  'pg',
  'pg-copy-streams',
  'pg-logical-replication',
  '@nats-io/transport-node',
  '@nats-io/kv',
  '@nats-io/obj',
  'jsonata',
  're2js',
];
const LEFT_OUT = 'throw new Error("this client was left out of this bundle");';

function standIns(withClients) {
  const contents = { ...STAND_INS };
  if (!withClients) for (const name of CLIENTS) contents[name] = LEFT_OUT;
  return {
    name: 'stand-ins',
    setup(build) {
      // Of a client also the modules within its package.
      const names = new RegExp(`^(?:(${Object.keys(STAND_INS).join('|')})|(${CLIENTS.join('|')})(?:/.*)?)$`);
      build.onResolve({ filter: names }, ({ path }) => {
        const [, whole, client] = names.exec(path) ?? [];
        const name = whole ?? client ?? path;
        return name in contents ? { path: name, namespace: 'stand-in' } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: 'stand-in' }, ({ path }) => ({ contents: contents[path] }));
    },
  };
}

/**
 * Bundles the module of a thread from the compiled `dist` into one CommonJS script for `new Worker(text, {
 * eval: true })`.
 *
 * @param {string} entry path of the thread's first module
 * @param {{ withClients?: boolean }} options whether the thread connects to databases and stores
 * @returns {Promise<{ text: string, licences: string }>} the script, and the licences of all packages in it
 */
export async function bundleWorker(entry, { withClients = false } = {}) {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minify: true,
    legalComments: 'none',
    plugins: [standIns(withClients)],
    // msgpackr asks for the address of its module to find its native part, which is not in the bundle.
    logOverride: { 'empty-import-meta': 'silent' },
  });
  const folders = new Set(
    Object.keys(metafile.inputs).flatMap((path) => {
      const found = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path);
      return found === null ? [] : [found[0]];
    }),
  );
  return { text: outputFiles[0].text, licences: [...folders].sort().map(licenceOf).join('\n') };
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e(\.|$)/i.test(each));
  const text =
    file === undefined ? `Licensed under ${license}.` : readFileSync(join(folder, file), 'utf8').trim();
  return `${name} ${version}\n\n${text}\n`;
}
