/** Builds the pages for people from pages/ into dist/http/pages/: hashed names, compressed once. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FROM = join(ROOT, 'pages');
const TO = join(ROOT, 'dist/http/pages');
const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  webmanifest: 'application/manifest+json',
};
/** Smaller files gain nothing. */
const COMPRESSED_BYTES_MIN = 512;

const settings = {
  bundle: true,
  minify: true,
  write: false,
  // light-dark() of style sheets.
  target: ['chrome123', 'firefox120', 'safari17.5'],
};
const output = { outdir: TO, metafile: true, entryNames: '[name]-[hash]' };
const styles = await build({
  ...settings,
  ...output,
  entryPoints: [join(FROM, 'style.css'), join(FROM, 'later.css')],
});
const nameOf = ({ metafile }, entry) => {
  const [path] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith(entry));
  return path.slice(path.lastIndexOf('/') + 1);
};
const scripts = await build({
  ...settings,
  ...output,
  entryPoints: [join(FROM, 'main.tsx')],
  format: 'esm',
  splitting: true,
  chunkNames: 'part-[hash]',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  alias: { 'lectern/client': join(ROOT, 'src/client/client.ts') },
  legalComments: 'none',
  define: { LATER_STYLE: JSON.stringify(nameOf(styles, 'pages/later.css')) },
  // V8 compiles all functions while it reads the file, not one by one at the first click.
  banner: { js: '//# allFunctionsCalledOnLoad' },
});

rmSync(TO, { recursive: true, force: true });
mkdirSync(TO, { recursive: true });
const files = {};

function write(name, bytes, isHashed) {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  writeFileSync(join(TO, name), bytes);
  const codings = [];
  if (bytes.length >= COMPRESSED_BYTES_MIN) {
    codings.push('br', 'gzip');
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(TO, `${name}.br`), brotliCompressSync(bytes, { params }));
    writeFileSync(join(TO, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
  files[name] = { type, codings, isHashed };
}

for (const { path, contents } of [...styles.outputFiles, ...scripts.outputFiles]) {
  write(relative(TO, path), Buffer.from(contents), true);
}
const [script, style] = [nameOf(scripts, 'pages/main.tsx'), nameOf(styles, 'pages/style.css')];

for (const name of ['icon.svg', 'app.webmanifest']) write(name, readFileSync(join(FROM, name)), false);
const worker = await build({
  ...settings,
  entryPoints: [join(FROM, 'worker.ts')],
  format: 'iife',
  define: { FILES: JSON.stringify(Object.keys(files)) },
});
write('worker.js', Buffer.from(worker.outputFiles[0].contents), false);
writeFileSync(join(TO, 'built.json'), JSON.stringify({ script, style, files }));

/** The packages whose code is in the files, with their licences. */
const folders = new Set(
  Object.keys(scripts.metafile.inputs).flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? [],
  ),
);
const licences = [...folders].sort().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  let text = '';
  for (const file of ['LICENSE', 'LICENSE.md', 'license']) {
    try {
      text = readFileSync(join(ROOT, folder, file), 'utf8').trim();
      break;
    } catch {}
  }
  return `${name} ${version}\n\n${text}\n`;
});
writeFileSync(join(TO, 'licences.txt'), licences.join('\n'));

// The page of a feed names these files, and bundled threads cannot read built.json.
writeFileSync(
  join(ROOT, 'dist/answer/page-files.js'),
  `export const PAGE_FILES = ${JSON.stringify({ style, script })};\n`,
);
rmSync(join(ROOT, 'dist/answer/page-files.js.map'), { force: true });
