/**
 * Compiles test/ into .tests/. Each file has the same depth as in test/ and imports the project from its
 * build instead of src/. So the tests use the shipped code, and their many processes compile nothing.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { ALONE } from './test-selections.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FROM = join(ROOT, 'test');
const TO = join(ROOT, '.tests');
const SOURCE_IMPORT = /((?:from|import\(?)\s*['"])((?:\.\.\/)+)src\/([^'"]+\.js['"])/g;

/** @returns {Promise<string[]>} the compiled test files, from .tests/ */
export async function buildTests() {
  rmSync(TO, { recursive: true, force: true });
  const files = readdirSync(FROM, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(FROM, join(parentPath, name)));
  await Promise.all(files.map(buildOne));
  return files
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.replaceAll('\\', '/').replace(/\.ts$/, '.js'))
    .sort();
}

async function buildOne(file) {
  const [from, to] = [join(FROM, file), join(TO, file)];
  mkdirSync(dirname(to), { recursive: true });
  if (!file.endsWith('.ts')) {
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
}

/**
 * Test files of one folder become one program, because starting a program costs more than most files.
 *
 * @param {readonly string[]} files
 * @returns {string[]} the programs, from the project's folder
 */
export function writePrograms(files) {
  const folders = new Map();
  const isAlone = (file) => Object.keys(ALONE).some((start) => file.startsWith(start));
  for (const file of files) {
    const key = isAlone(file) ? file : dirname(file);
    folders.set(key, [...(folders.get(key) ?? []), file]);
  }
  return [...folders].map(([key, [first, ...others]]) => {
    if (others.length === 0) return `.tests/${first}`;
    const program = `.tests/${key}/together.test.js`;
    const imports = [first, ...others].map((file) => `import './${basename(file)}';\n`);
    writeFileSync(join(ROOT, program), imports.join(''));
    return program;
  });
}
