/**
 * Compiles test/ into .tests/. Each file has the same depth as in test/ and imports the project from its
 * build instead of src/. So the tests use the shipped code, and their many processes compile nothing. Folders
 * of many short files become one program each, because starting a program costs more than such a file.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FROM = join(ROOT, 'test');
const TO = join(ROOT, '.tests');
/** Each subfolder of these folders is a program. */
const TOGETHER = ['auth', 'http', 'normalise', 'snapshot', 'source', 'structures'];
const SOURCE_IMPORT = /((?:from|import\(?)\s*['"])((?:\.\.\/)+)src\/([^'"]+\.js['"])/g;

rmSync(TO, { recursive: true, force: true });
const files = readdirSync(FROM, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
await Promise.all(
  files.map(async ({ parentPath, name }) => {
    const from = join(parentPath, name);
    const isTogether = TOGETHER.includes(relative(FROM, parentPath).split(sep)[0]);
    const to = join(TO, relative(FROM, from)).replace(/\.test\.ts$/, isTogether ? '.part.ts' : '.test.ts');
    mkdirSync(dirname(to), { recursive: true });
    if (!name.endsWith('.ts')) {
      copyFileSync(from, to);
      return;
    }
    const { code } = await transform(readFileSync(from, 'utf8'), {
      loader: 'ts',
      target: 'node20',
      sourcefile: relative(dirname(to), from),
      sourcemap: 'inline',
      sourcesContent: false,
    });
    writeFileSync(to.replace(/\.ts$/, '.js'), code.replace(SOURCE_IMPORT, '$1$2dist/$3'));
  }),
);
for (const folder of new Set(files.map(({ parentPath }) => join(TO, relative(FROM, parentPath))))) {
  const parts = readdirSync(folder).filter((name) => name.endsWith('.part.js'));
  const imports = parts.map((name) => `import './${name}';\n`);
  if (parts.length > 0) writeFileSync(join(folder, 'together.test.js'), imports.join(''));
}
