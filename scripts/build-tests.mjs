/**
 * Compiles test/ into .tests/. Each file has the same depth as in test/ and imports the project from its
 * build instead of src/. So the tests use the shipped code, and their many processes compile nothing.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { FIRST } from './test-selections.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FROM = join(ROOT, 'test');
const TO = join(ROOT, '.tests');
const PAGES = join(ROOT, 'pages');
const PAGE_IMPORT = /((?:from|import\(?)\s*['"])((?:\.\.\/)+)pages\/([^'"]+\.js['"])/g;
const SOURCE_IMPORT = /((?:from|import\(?)\s*['"])((?:\.\.\/)+)src\/([^'"]+\.js['"])/g;

/** @returns {Promise<string[]>} the compiled test files, from .tests/ */
export async function buildTests() {
  rmSync(TO, { recursive: true, force: true });
  const files = readdirSync(FROM, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(FROM, join(parentPath, name)));
  await Promise.all(files.map((file) => buildOne(join(FROM, file), join(TO, file))));
  // The modules of the pages that need no browser are tested without one.
  const modules = readdirSync(PAGES, { recursive: true }).filter((file) => /\.ts$/.test(file));
  await Promise.all(modules.map((file) => buildOne(join(PAGES, file), join(TO, 'of-pages', file))));
  return files
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.replaceAll('\\', '/').replace(/\.ts$/, '.js'))
    .sort();
}

async function buildOne(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  if (!from.endsWith('.ts')) {
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
  writeFileSync(
    to.replace(/\.ts$/, '.js'),
    code.replace(SOURCE_IMPORT, '$1$2dist/$3').replace(PAGE_IMPORT, '$1$2.tests/of-pages/$3'),
  );
}

/** More files would make the longest program longer than the others together. */
const FILES_MAX = 16;
/** Folders with fewer files have a program in common. */
const OWN_PROGRAM_FILES = 5;
const SMALL = 'small-folders';

/**
 * Test files of one folder become one program or a few, because starting a program costs more than most files.
 *
 * @param {readonly string[]} files
 * @param {boolean} isTogether otherwise each file is a program
 * @returns {string[]} the programs, from the project's folder, in the order of their starts
 */
export function writePrograms(files, isTogether) {
  const rank = (program) => {
    // Those of small folders mostly wait.
    if (program.startsWith(`.tests/${SMALL}/`)) return -1;
    const found = FIRST.findIndex((start) => program.startsWith(`.tests/${start}`));
    return found === -1 ? FIRST.length : found;
  };
  const programs = isTogether ? programsOfFolders(files) : files.map((file) => `.tests/${file}`);
  return programs.sort((a, b) => rank(a) - rank(b));
}

function programsOfFolders(files) {
  const folders = new Map();
  for (const file of files) folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), file]);
  const isSmall = ([, own]) => own.length < OWN_PROGRAM_FILES;
  const small = [...folders].filter(isSmall).flatMap(([, own]) => own);
  const groups = [...folders].filter((group) => !isSmall(group));
  if (small.length > 0) groups.push([SMALL, small]);
  return groups.flatMap(([folder, own]) => {
    const count = Math.ceil(own.length / FILES_MAX);
    return Array.from({ length: count }, (_, n) => {
      const program = `.tests/${folder}/together-${n + 1}.test.js`;
      // Every count-th file, because neighbours by name are often alike.
      const imports = own
        .filter((_, at) => at % count === n)
        .map((file) => `import '${relative(folder, file).replace(/^(?!\.)/, './')}';\n`);
      mkdirSync(join(ROOT, dirname(program)), { recursive: true });
      writeFileSync(join(ROOT, program), imports.join(''));
      return program;
    });
  });
}
