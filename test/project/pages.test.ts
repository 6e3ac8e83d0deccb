/** Every page names only existing things: links, paths, settings, scripts and decisions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { createProgram } from '../../src/cli/program.js';
import { shownDefault, variableOf } from '../../src/options/setting.js';
import { COMMANDS as SETTING_COMMANDS, SETTINGS, settingsOfCommand } from '../../src/options/table.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Folders without pages of the project. */
const WITHOUT_PAGES = ['node_modules', 'dist', 'peers'];
const PAGES: ReadonlyMap<string, string> = new Map(pathsIn('', '.md').map((path) => [path, read(path)]));

/** Options of other programs that the pages mention. */
const FOREIGN_FLAGS = [
  '--banner',
  '--experimental-vm-modules',
  '--format',
  '--max-semi-space-size',
  '--prefix',
  '--unhandled-rejections',
  '--use-largepages',
];
/** Environment variables of tests. */
const TEST_VARIABLES = ['LECTERN_REAL_INSTALL'];
const OF_COMMANDS = SETTING_COMMANDS.flatMap((command) => [...settingsOfCommand(command).values()]);
const SETTING_FLAGS = OF_COMMANDS.flatMap(({ flag }) => flag ?? []);
const VARIABLES = [...OF_COMMANDS.flatMap((setting) => variableOf(setting) ?? []), ...TEST_VARIABLES];

/** Files below a folder by the end of their names, without hidden folders. */
function pathsIn(folder: string, end: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith('.') || WITHOUT_PAGES.includes(entry.name)) return [];
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return pathsIn(path, end);
    return entry.name.endsWith(end) ? [path] : [];
  });
}

/** Options that scripts and commands other than `serve` define. */
function definedFlags(): Set<string> {
  const files = [
    ...pathsIn('src/cli', '.ts'),
    ...['bench', 'scripts', 'test/container', 'test/soak'].flatMap((folder) => pathsIn(folder, '.mjs')),
  ];
  const flags = files.flatMap((file) => read(file).match(/--[a-z][a-z0-9-]+/g) ?? []);
  return new Set([...flags, ...SETTING_FLAGS, ...FOREIGN_FLAGS]);
}

/** The anchor of a heading, as made by GitHub. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsIn(text: string): Set<string> {
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading as string)));
}

/** Links of a page to missing files or headings. */
function deadLinks(path: string, text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target as string)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#');
      const full = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file));
      if (!existsSync(join(ROOT, full))) return true;
      return anchor !== undefined && !anchorsIn(read(full)).has(anchor);
    });
}

/** Missing paths from the root that a page names in code. */
function deadPaths(text: string): string[] {
  const named = text.matchAll(
    /`((?:src|test|bench|fixtures|scripts|examples|deploy|docs|\.ci|\.github)\/[^`\s*<]*)`/g,
  );
  return [...named].map(([, path]) => path as string).filter((path) => !existsSync(join(ROOT, path)));
}

function unknownFlags(text: string, known: ReadonlySet<string>): string[] {
  return [...text.matchAll(/(?<![\w<-])--[a-z][a-z0-9-]+/g)]
    .map(([flag]) => flag)
    .filter((flag) => !known.has(flag));
}

function unknownVariables(text: string): string[] {
  return [...text.matchAll(/\bLECTERN_[A-Z0-9_]+/g)]
    .map(([name]) => name)
    .filter((name) => !VARIABLES.includes(name));
}

/** The command lines of `lectern` in a page: the command, and its flags. */
function commandLines(text: string): { readonly command: string; readonly flags: readonly string[] }[] {
  const names = [...COMMANDS.keys()].sort((a, b) => b.length - a.length).join('|');
  const lines = text
    .replace(/\\\n\s*/g, ' ')
    .matchAll(new RegExp(`(?<![\\w/-])lectern (${names})(?![\\w-])([^\\n\`|;&]*)`, 'g'));
  return [...lines].map(([, command = '', rest = '']) => {
    // Values in quotes may hold other command lines and header fields.
    const flags = rest.replace(/'[^']*'|"[^"]*"/g, '').match(/(?<=\s)--?[A-Za-z][\w-]*/g) ?? [];
    return { command, flags };
  });
}

/** `serve`, `channel pin` and so on, with the flags of the very command. */
const COMMANDS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  createProgram(() => {}).commands.flatMap((command) => {
    const own = [command, ...command.commands];
    return own.map((each): [string, Set<string>] => [
      each === command ? each.name() : `${command.name()} ${each.name()}`,
      new Set(['--help', '-h', ...each.options.flatMap(({ short, long }) => [short ?? '', long ?? ''])]),
    ]);
  }),
);

/** Flags of command lines that the command does not have. */
function wrongFlags(text: string): string[] {
  return commandLines(text).flatMap(({ command, flags }) =>
    flags.filter((flag) => !COMMANDS.get(command)?.has(flag)).map((flag) => `${command} ${flag}`),
  );
}

/** Flags behind `npm run <script> --` that neither the script nor a module that it imports has. */
function wrongScriptFlags(text: string): string[] {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const lines = text.replace(/\\\n\s*/g, ' ').matchAll(/npm run ([\w:]+) -- ([^\n`|;&]*)/g);
  return [...lines].flatMap(([, name = '', rest = '']) => {
    // `npm run dev` passes its options to `lectern serve`.
    if (name === 'dev') return wrongFlags(`lectern serve ${rest}`);
    const files = scripts[name]?.match(/\S+\.mjs/g) ?? [];
    const imported = files.flatMap((file) =>
      [...read(file).matchAll(/from '(\.[^']+\.mjs)'/g)].map(([, path = '']) => join(dirname(file), path)),
    );
    const known = [...files, ...imported].map(read).join('\n');
    const flags = rest.match(/(?<=\s|^)--[a-z][\w-]*/g) ?? [];
    return flags.filter((flag) => !known.includes(flag)).map((flag) => `${name} ${flag}`);
  });
}

test('every command line in a page has only options of its command', (t) => {
  let lines = 0;
  for (const [path, text] of PAGES) {
    t.strictSame(wrongFlags(text), [], path);
    t.strictSame(wrongScriptFlags(text), [], `scripts in ${path}`);
    lines += commandLines(text).length;
  }
  t.ok(lines > 60, `${lines} command lines`);
  t.strictSame(
    wrongFlags(
      'lectern publish x --to y --port 1, `lectern inspect x \\\n  --json --once` lectern channel pin a b --json',
    ),
    ['publish --port', 'inspect --once', 'channel pin --json'],
  );
  t.strictSame(wrongScriptFlags('npm run bench:replicas -- --quick --before ../x'), [
    'bench:replicas --before',
  ]);
  t.end();
});

/** Settings of the table that a page gives a default, such as "`--feed-days` (400)". */
function toldDefaults(text: string): string[] {
  const flags = SETTINGS.flatMap((setting) => (setting.default === undefined ? [] : (setting.flag ?? [])));
  const unwrapped = text.replace(/\s+/g, ' ');
  return flags.filter((flag) => {
    const named = `\`${flag}\`(?:\\]\\([^)]*\\))?`;
    const forms = [
      `${named} \\(\\d`,
      `\\d(?: \\w+){0,3} \\(${named}`,
      `${named}[^.|\`]{0,40}\\bdefault`,
      `\\bdefault[^.|\`]{0,40}${named}`,
    ];
    return forms.some((form) => new RegExp(form, 'i').test(unwrapped));
  });
}

/** Sentences that are true only with a default of the table. */
const SENTENCES_OF_DEFAULTS: readonly (readonly [page: string, text: string, name: string, usual: string])[] =
  [
    ['docs/data-sources.md', '| `uuid` (default) |', 'identifiers', 'uuid'],
    [
      'docs/http-api.md',
      '[`--base-path`](configuration.md#listening) replaces `/api/v1`',
      'basePath',
      '/api/v1',
    ],
    ['docs/operations.md', 'Production is the default:', 'dev', 'off'],
    ['docs/operations.md', 'By default only clients on the same machine reach', 'adminHost', '127.0.0.1'],
    ['docs/security.md', 'By default any JWT of the issuer passes,', 'tokenType', 'any'],
  ];

test('defaults are told by docs/configuration.md alone, or agree with the table of settings', (t) => {
  for (const [path, text] of PAGES) {
    // Decisions and the changelog tell what was true then.
    if (/^(CHANGELOG\.md|docs\/(configuration\.md|decisions\/.*))$/.test(path)) continue;
    t.strictSame(toldDefaults(text), [], path);
  }
  for (const [path, text, name, usual] of SENTENCES_OF_DEFAULTS) {
    t.match(read(path).replace(/\s+/g, ' '), text, path);
    const setting = SETTINGS.find((each) => each.name === name);
    t.equal(setting && shownDefault(setting), usual, `${name} in ${path}`);
  }
  t.strictSame(
    toldDefaults(
      'every `--jwks-refresh-seconds` (300); at most 10,000\nstreams (`--streams-max`); ' +
        'the default of `--base-path` is /api/v1. [`--feed-days`](configuration.md#feeds) (400)',
    ).sort(),
    ['--base-path', '--feed-days', '--jwks-refresh-seconds', '--streams-max'],
  );
  t.end();
});

test('links lead to existing files and headings', (t) => {
  t.ok(PAGES.has('README.md') && PAGES.has('docs/design/architecture.md'), 'the pages are found');
  for (const [path, text] of PAGES) t.strictSame(deadLinks(path, text), [], path);
  t.end();
});

test('paths, options, variables and scripts exist', (t) => {
  const known = definedFlags();
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const [path, text] of PAGES) {
    t.strictSame(deadPaths(text), [], `paths in ${path}`);
    t.strictSame(unknownFlags(text, known), [], `options in ${path}`);
    t.strictSame(unknownVariables(text), [], `variables in ${path}`);
    const named = [...text.matchAll(/npm run ([a-z][\w:]*)/g)].map(([, name]) => name as string);
    t.strictSame(
      named.filter((name) => !(name in scripts)),
      [],
      `scripts in ${path}`,
    );
  }
  t.end();
});

test('these checks notice missing targets', (t) => {
  const text =
    '[a](docs/none.md) [b](README.md#none) [c](#here) `src/none.ts` --port --prot LECTERN_PORT LECTERN_PROT\n# Here';
  t.strictSame(deadLinks('README.md', text), ['docs/none.md', 'README.md#none', '#here']);
  t.strictSame(deadPaths(text), ['src/none.ts']);
  t.strictSame(unknownFlags(text, definedFlags()), ['--prot']);
  t.strictSame(unknownVariables(text), ['LECTERN_PROT']);
  t.end();
});

test('every page of docs/ can be reached from the README', (t) => {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const [, target = ''] of PAGES.get(path)?.matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g) ?? []) {
      if (!/^[a-z]+:/.test(target)) visit(relative(ROOT, join(ROOT, dirname(path), target)));
    }
  };
  visit('README.md');
  const alone = [...PAGES.keys()].filter((path) => path.startsWith('docs/') && !reached.has(path));
  t.strictSame(alone, []);
  t.end();
});

test('the list of decisions is complete; npm run docs updates it', async (t) => {
  const module = new URL('../../scripts/decisions.mjs', import.meta.url).href;
  const { decisionsPage } = (await import(module)) as { decisionsPage: () => string };
  t.equal(read('docs/decisions/README.md'), decisionsPage());
});
