/**
 * Every public declaration of Lectern has a doc comment: each name exported by `lectern`, each type that it
 * mentions, and each of their members. Read from the text of dist/*.d.ts, as in an editor.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));

/** A declaration at the left margin of a file, with its lines. */
interface Declaration {
  readonly file: string;
  readonly name: string;
  readonly lines: readonly string[];
  readonly isDocumented: boolean;
}

interface Module {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** An import or export from another file: its local name and its origin. */
  readonly elsewhere: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
}

const DECLARATION =
  /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|enum) (?<name>\w+)/;
const FROM_ELSEWHERE = /^(?:import|export) (?:type )?\{(?<names>[^}]*)\} from '(?<path>\.[^']*)\.js';$/gm;
/**
 * A member: a name or a computed one, then `?`, `:`, `(` or `<`. Private members of classes appear as
 * `#private` and `private name`.
 */
const MEMBER = /^(?:static |readonly |get |set |abstract )*(?<name>\w+|\[[\w.]+\])\??[:(<]/;

function readModule(file: string): Module {
  const text = readFileSync(file, 'utf8');
  const elsewhere = new Map<string, { readonly file: string; readonly name: string }>();
  for (const { groups } of text.matchAll(FROM_ELSEWHERE)) {
    for (const each of (groups?.names ?? '').split(',')) {
      const [name, here = name] = each
        .trim()
        .replace(/^type /, '')
        .split(' as ');
      if (name !== undefined && here !== undefined && name !== '')
        elsewhere.set(here, { file: join(dirname(file), `${groups?.path}.d.ts`), name });
    }
  }
  const declarations = new Map<string, Declaration>();
  const lines = text.split('\n');
  const starts = lines.flatMap((line, n) => (DECLARATION.test(line) ? [n] : []));
  for (const start of starts) {
    const name = DECLARATION.exec(lines[start] ?? '')?.groups?.name ?? '';
    let end = start + 1;
    // The closing brace, or further lines of a type, come before the next declaration at the margin.
    while (end < lines.length && /^(?:[ }]|$)/.test(lines[end] ?? '')) end++;
    const known = declarations.get(name);
    declarations.set(name, {
      file,
      name,
      lines: [...(known?.lines ?? []), ...lines.slice(start, end)],
      isDocumented: known?.isDocumented === true || endsComment(lines[start - 1]),
    });
  }
  return { declarations, elsewhere };
}

function endsComment(line: string | undefined): boolean {
  return line?.trimEnd().endsWith('*/') === true;
}

/** Declarations reachable from the exported names, in the order of discovery. */
function reachable(index: string): Declaration[] {
  const modules = new Map<string, Module>();
  const moduleOf = (file: string): Module => {
    const module = modules.get(file) ?? readModule(file);
    modules.set(file, module);
    return module;
  };
  const found = new Map<string, Declaration>();
  const visit = (file: string, name: string): void => {
    const { declarations, elsewhere } = moduleOf(file);
    const from = elsewhere.get(name);
    if (from !== undefined) {
      visit(from.file, from.name);
      return;
    }
    const declaration = declarations.get(name);
    const key = `${relative(DIST, file)} ${name}`;
    if (declaration === undefined || found.has(key)) return;
    found.set(key, declaration);
    const code = declaration.lines.filter((line) => !/^\s*\/?\*/.test(line)).join('\n');
    for (const [word] of code.matchAll(/\b[A-Za-z_]\w*\b/g)) if (word !== name) visit(file, word);
  };
  for (const name of moduleOf(index).elsewhere.keys()) visit(index, name);
  return [...found.values()];
}

/** Members without a comment right above them, in the declaration and in objects within it. */
function undocumented({ file, name, lines, isDocumented }: Declaration): string[] {
  const where = `${relative(DIST, file)}: ${name}`;
  // Data for deriving a type, and conditions within a type, are not members.
  if (/^export declare const |\bExtract</.test(lines[0] ?? '')) return [];
  const members = lines.flatMap((line, n) => {
    if (n === 0 || !line.startsWith('    ') || endsComment(lines[n - 1])) return [];
    const member = MEMBER.exec(line.trim())?.groups?.name;
    return member === undefined || member === 'constructor' ? [] : [`${where}.${member}`];
  });
  return isDocumented ? members : [where, ...members];
}

test('every export has a doc comment', (t) => {
  const declarations = reachable(join(DIST, 'index.d.ts'));
  const names = declarations.map(({ name }) => name);
  for (const name of [
    'openTimetable',
    'Timetable',
    'TimetableRecord',
    'EmbeddedHandlerOptions',
    'HttpSpec',
    'View',
  ])
    t.ok(names.includes(name), `${name} was found`);
  t.strictSame(declarations.flatMap(undocumented), []);
  t.end();
});

test('missing doc comments are found', (t) => {
  const folder = t.testdir({
    'index.d.ts': "export { run } from './run.js';\nexport type { Bare } from './run.js';\n",
    'run.d.ts': `interface Inner {
    readonly told: string;
}
/** Told. */
export interface Bare extends Inner {
    /** Told. */
    readonly told: string;
    readonly untold?: {
        /** Told. */
        readonly deep: string;
        shallow(): void;
    };
    /** Told. */
    [Symbol.iterator](): void;
}
/** Told. */
export declare function run(bare: Bare): Elsewhere;
export type Unreached = string;
`,
  });
  const found = reachable(join(folder, 'index.d.ts')).flatMap(undocumented);
  t.strictSame(
    found.map((each) => each.split(': ')[1]),
    ['Bare.untold', 'Bare.shallow', 'Inner', 'Inner.told'],
  );
  t.end();
});
