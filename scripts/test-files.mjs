/** The test files of the project, and their modules. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/** @returns {string[]} paths from the project's folder, such as test/answer/plan.test.ts */
export function testFiles() {
  return readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)).replaceAll('\\', '/'))
    .sort();
}

/**
 * The test files that match a name.
 *
 * @param {string} name a part of a path; a whole path, or its end without `.test.ts`, matches only that file
 * @param {readonly string[]} files
 */
export function matching(name, files) {
  const wanted = name.replaceAll('\\', '/').replace(/^\.\//, '');
  const exact = files.filter((file) => [file, file.replace(/\.test\.ts$/, '')].includes(wanted));
  const whole = files.filter((file) => `/${file.replace(/\.test\.ts$/, '')}`.endsWith(`/${wanted}`));
  const part = files.filter((file) => file.includes(wanted));
  return [exact, whole, part].find((found) => found.length > 0) ?? [];
}

/**
 * A file and all modules of the project that it imports, directly or indirectly.
 *
 * @param {string} file
 * @param {Map<string, string[]>} [known] imports of files already read, shared between calls
 * @returns {Set<string>} paths from the project's folder
 */
export function closureOf(file, known = new Map(), seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  if (!known.has(file)) known.set(file, importsOf(file));
  for (const imported of known.get(file)) closureOf(imported, known, seen);
  return seen;
}

function importsOf(file) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(IMPORT)].flatMap(([, path]) => {
    const found = relative(ROOT, resolve(ROOT, dirname(file), path)).replaceAll('\\', '/');
    const candidates = [found.replace(/\.js$/, '.ts'), found.replace(/\.mjs$/, '.mts'), found];
    const existing = candidates.find(
      (each) => /\.(ts|mts|mjs|js)$/.test(each) && existsSync(join(ROOT, each)),
    );
    return existing === undefined ? [] : [existing];
  });
}

/** A module with this text uses src/ if it runs from source, and dist/ if it is compiled. */
const CHOOSES = "import.meta.url.endsWith('.js')";

/** Whether a test uses the project from dist/: one of its files names dist/. */
export function needsBuild(closure) {
  return [...closure].some((file) => {
    if (!file.startsWith('test/')) return false;
    const code = codeOf(readFileSync(join(ROOT, file), 'utf8'));
    return /\bdist\b/.test(code) && !code.includes(CHOOSES);
  });
}

/**
 * The test files to run after a change.
 *
 * @param {readonly string[]} changed paths
 * @param {readonly string[]} files test files
 * @returns {{ files: string[], left: number }} tests that import a changed file, nearest first; and the
 * number left out because they would need a build
 */
export function affectedBy(changed, files) {
  const known = new Map();
  const closures = files
    .map((file) => ({ file, closure: closureOf(file, known) }))
    // Tests with few modules are closest to the change.
    .sort((a, b) => a.closure.size - b.closure.size);
  const isSource = changed.some((file) => file.startsWith('src/'));
  const left = isSource
    ? closures.filter(({ file, closure }) => needsBuild(closure) && !changed.includes(file))
    : [];
  const affected = closures.filter(({ closure }) => changed.some((file) => closure.has(file)));
  return {
    files: affected.filter((each) => !left.includes(each)).map(({ file }) => file),
    left: left.length,
  };
}

/** The code of a file without its comments. */
const codeOf = (text) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
