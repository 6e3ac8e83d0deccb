import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';

/** Important style rules are tests. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * For each folder of src/: the other folders that it may import, and its packages. Data flows in one
 * direction: a folder on the right may import those on the left.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  client: [],
  store: ['base'],
  source: ['base'],
  normalise: ['base'],
  snapshot: ['base'],
  change: ['snapshot', 'base'],
  answer: ['change', 'snapshot', 'base'],
  auth: ['source', 'base'],
  refresh: ['change', 'snapshot', 'normalise', 'source', 'store', 'base'],
  fleet: ['refresh', 'change', 'snapshot', 'store', 'base'],
  http: ['auth', 'answer', 'base'],
  options: ['http', 'refresh', 'auth', 'source', 'store', 'base'],
  app: ['options', 'http', 'fleet', 'refresh', 'auth', 'answer', 'snapshot', 'source', 'store', 'base'],
  'index.ts': ['app', 'options', 'http', 'fleet', 'refresh', 'auth', 'answer', 'snapshot', 'source', 'base'],
  cli: ['app', 'options', 'http', 'fleet', 'refresh', 'answer', 'snapshot', 'source', 'store', 'base'],
  'cli.ts': ['cli'],
};

/** Folders that must not use typed arrays: they work with bodies and counts. */
const NO_TYPED_ARRAYS = ['http', 'auth', 'cli'];
const TYPED_ARRAY = /\b(Uint32Array|Float64Array|SharedArrayBuffer)\b/;

const LINES_MAX = 800;
/** Folders of src, and files beside them. */
const ENTRIES_MAX = 17;
const PAIRS_MAX = 62;
const FORBIDDEN_NAMES = /^(utils?|helpers?|commons?)(\.|$)/;

function sourceFiles(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return (
    readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && /\.(tsx?|mjs)$/.test(entry.name))
      .map((entry) => relative(ROOT, join(entry.parentPath ?? entry.path, entry.name)))
      // Peers of the bench have packages of their own.
      .filter((path) => !path.includes('/node_modules/'))
  );
}

/** Relative imports of a file, resolved to paths from the root. Covers import, export … from and import(). */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...found].map((match) =>
    relative(ROOT, resolve(join(ROOT, dirname(file)), match[1] ?? '')).replace(/\.js$/, '.ts'),
  );
}

function layerOf(file: string): string {
  return file.split('/')[1] ?? '';
}

test('every folder of src imports only lower folders', (t) => {
  for (const file of sourceFiles('src')) {
    const layer = layerOf(file);
    const allowed = MAY_IMPORT[layer];
    t.ok(allowed, `${layer} has a place among the layers`);
    for (const imported of importsOf(file)) {
      const other = layerOf(imported);
      t.ok(other === layer || allowed?.includes(other), `${file} imports ${imported}`);
    }
  }
  t.end();
});

test('src has few folders, and few pairs of them import one another', (t) => {
  const pairs = new Set(
    sourceFiles('src').flatMap((file) =>
      importsOf(file)
        .map((imported) => [layerOf(file), layerOf(imported)] as const)
        .filter(([folder, other]) => folder !== other)
        .map((pair) => pair.join(' imports ')),
    ),
  );
  t.ok(pairs.size <= PAIRS_MAX, `${pairs.size} pairs`);
  t.ok(readdirSync(join(ROOT, 'src')).length <= ENTRIES_MAX);
  const unused = Object.entries(MAY_IMPORT).flatMap(([folder, others]) =>
    others.map((other) => `${folder} imports ${other}`).filter((pair) => !pairs.has(pair)),
  );
  t.strictSame(unused, [], 'MAY_IMPORT has only pairs that exist');
  t.end();
});

test('the check of layers finds imports', (t) => {
  t.ok(importsOf('src/refresh/thread/load-image.ts').includes('src/snapshot/builder.ts'));
  t.ok(importsOf('src/index.ts').includes('src/app/timetable.ts'));
  t.end();
});

test('there are no circles of imports', (t) => {
  const graph = new Map(sourceFiles('src').map((file) => [file, importsOf(file)]));
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (done.has(file)) return;
    const circle = path.indexOf(file);
    if (circle !== -1) {
      t.fail([...path.slice(circle), file].join(' → '));
      return;
    }
    for (const imported of graph.get(file) ?? []) {
      if (graph.has(imported)) visit(imported, [...path, file]);
    }
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  t.equal(done.size, graph.size);
  t.end();
});

test('the layers above the snapshot touch no typed array', (t) => {
  for (const file of sourceFiles('src').filter((path) => NO_TYPED_ARRAYS.includes(layerOf(path)))) {
    t.notMatch(readFileSync(join(ROOT, file), 'utf8'), TYPED_ARRAY, file);
  }
  t.end();
});

/** What one component shows, and no other part of the pages asks for. */
const OWN_STATE: Readonly<Record<string, string>> = {
  'pages/data.ts': 'what a component waits for',
  'pages/find.tsx': 'the field to find, its list and what is marked in it',
  'pages/parts.tsx': 'whether the script of a view is there',
  'pages/status.tsx': 'whether the settings are unfolded',
  'pages/views/grid.tsx': 'the width of a grid, as measured',
  'pages/views/token-form.tsx': 'a token that is being typed',
};
/** What no person sets or sees. */
const OWN_VARIABLES: Readonly<Record<string, string>> = {
  'pages/data.ts wasOutOfReach': 'the connection',
  'pages/data.ts lastVersion': 'the connection',
  'pages/data.ts following': 'the connection',
  'pages/find.tsx field': 'an element',
  'pages/parts.tsx laterStyle': 'a style sheet that is on its way',
  'pages/views/grid.tsx lastWidth': 'a measure',
  'pages/views/grid.tsx lastColumnsMax': 'a measure',
};

test('the pages keep their state in one store', (t) => {
  const texts = sourceFiles('pages')
    .filter((file) => file !== 'pages/store.ts')
    .sort()
    .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
  const calling = (name: RegExp): readonly string[] =>
    texts.filter(({ text }) => name.test(text)).map(({ file }) => file);
  t.strictSame(calling(/\b(use)?signal(<.*>)?\(/i), [], 'signals');
  t.strictSame(calling(/\buse(State|Reducer)\b/), Object.keys(OWN_STATE), 'hooks');
  const variables = texts.flatMap(({ file, text }) =>
    [...text.matchAll(/^(?:export )?let (\w+)/gm)].map(([, name]) => `${file} ${name}`),
  );
  t.strictSame(variables, Object.keys(OWN_VARIABLES), 'variables of modules');
  t.end();
});

test('files are short and well named', (t) => {
  const files = ['src', 'pages', 'test', 'bench'].flatMap(sourceFiles);
  // Made by a program.
  for (const file of files.filter((each) => each !== 'src/client/api.ts')) {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n').length;
    t.ok(lines <= LINES_MAX, `${file} has ${lines} lines`);
    for (const part of file.split('/')) t.notMatch(part, FORBIDDEN_NAMES, file);
    if (file.startsWith('src/') && file !== 'src/index.ts')
      t.notMatch(file, /\/index\.ts$/, 'no barrel but one');
  }
  t.end();
});

test('docs/design/architecture.md is short and has its sections', (t) => {
  const text = readFileSync(join(ROOT, 'docs/design/architecture.md'), 'utf8');
  t.ok(Buffer.byteLength(text) <= 11 * 1024, `${Buffer.byteLength(text)} bytes`);
  const parts = ['Goals', 'Non-goals', 'Data flow', 'Entry points', 'Invariants', 'Dependencies'];
  for (const part of parts) t.match(text, `\n## ${part}\n`, part);
  const paths = [...text.matchAll(/`(src\/[^`\s*]*)`/g)].map((match) => match[1] ?? '');
  t.ok(paths.length > 20, `${paths.length} paths are named; pages.test.ts checks that they exist`);
  t.end();
});

/** Folders that share the purpose of the folder above them. */
const WITHOUT_OWN_PURPOSE = ['src/source/formats', 'src/source/calendar', 'src/source/postgres'];

test('every folder of src states its purpose and limits at the head of one file', (t) => {
  const folders = new Set(sourceFiles('src').map((file) => dirname(file)));
  for (const folder of [...folders].filter((each) => each !== 'src' && !WITHOUT_OWN_PURPOSE.includes(each))) {
    const says = `Folder ${folder.slice('src/'.length)}/. `;
    const heads = sourceFiles(folder).filter((file) => {
      const [first = ''] = readFileSync(join(ROOT, file), 'utf8').split('*/');
      return dirname(file) === folder && first.startsWith('/**') && first.includes(says);
    });
    t.equal(heads.length, 1, folder);
  }
  t.end();
});

test('package.json has exact versions, and docs/design/architecture.md justifies every runtime dependency', (t) => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  const text = readFileSync(join(ROOT, 'docs/design/architecture.md'), 'utf8');
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    t.match(version, /^(?:npm:@types\/node@)?\d+\.\d+\.\d+$/, `${name} ${version}`);
  }
  // Packages that others need are named too, because the scripts of threads hold copies of them.
  const { '': _, ...packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    .packages as Record<string, { dependencies?: object; optionalDependencies?: object; dev?: boolean }>;
  const needed = Object.values(packages).flatMap(({ dependencies, optionalDependencies, dev }) =>
    dev ? [] : Object.keys({ ...dependencies, ...optionalDependencies }),
  );
  for (const name of Object.keys(manifest.dependencies))
    t.ok(text.includes(`\n| ${name} |`) || needed.includes(name), name);
  t.end();
});

test('the lock file has an entry for every platform, as npm ci needs', (t) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  let checked = 0;
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      checked++;
      t.ok(packages[`node_modules/${name}`] ?? packages[`${path}/node_modules/${name}`], name);
    }
  }
  t.ok(checked > 0);
  t.end();
});

test('every package of the lock file has its checksum', (t) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string }>;
  };
  const without = Object.entries(packages)
    // The project itself.
    .filter(([path]) => path !== '')
    .filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
    .map(([path]) => path);
  t.strictSame(without, [], 'choose versions of which the registry has every platform');
  t.end();
});

test('the lock file names no registry', (t) => {
  t.notMatch(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'), /"resolved": "http/);
  t.match(readFileSync(join(ROOT, '.npmrc'), 'utf8'), 'omit-lockfile-registry-resolved=true');
  t.end();
});
