/**
 * The types as a TypeScript program sees them: all of dist/*.d.ts, with the oldest and newest supported
 * @types/node, and the Express example.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');
const NODE_TYPES = ['@types/node', 'types-node-22', 'types-node-24', 'types-node-26'];

const PROGRAM = `
import { createServer, type IncomingMessage } from 'node:http';
import { MemorySource, openTimetable, type RequestHandler, type Timetable, type TimetableRecord } from 'lectern';

const lecture: TimetableRecord = { id: '1', time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:00:00Z', roomId: null };
// @ts-expect-error a record has a time
const timeless: TimetableRecord = { id: '1', endTime: '2024-09-02T09:00:00Z' };
// @ts-expect-error there is no such field
const misspelt: TimetableRecord = { ...lecture, lecurer: 'Ada' };

const timetable: Timetable = openTimetable({ source: new MemorySource([lecture, timeless, misspelt]) });
createServer(timetable.handler());
createServer(timetable.handler({ identify: (req) => (req.headers['x-user'] === undefined ? null : {}) }));

interface UserRequest extends IncomingMessage {
  readonly user: { readonly group: string };
}
const handler: RequestHandler<UserRequest> = timetable.handler({
  identify: (req: UserRequest) => ({ studyGroup: [req.user.group] }),
});
timetable.handler<UserRequest>({ identify: ({ user }) => ({ studyGroup: [user.group] }) });
// @ts-expect-error a request of node:http has no user
createServer(handler);

const title: string | null = timetable.find({ type: ['Lab'], startTime: new Date(0) }).events[0]?.title ?? null;
const server = await timetable.serve({ dev: true, port: 0, workers: 'auto' });
await server.close({ deadlineMs: 0 });
await timetable[Symbol.asyncDispose]();
console.log(title);
`;

/** @param files by their path in the project @returns the messages of the compiler; empty if there are none */
function compile(
  t: { teardown(end: () => void): void },
  nodeTypes: string,
  program: string,
  more: readonly string[] = [],
): string {
  const project = mkdtempSync(join(tmpdir(), 'lectern-types-'));
  t.teardown(() => rmSync(project, { recursive: true, force: true }));
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '@types'), { recursive: true });
  // A copy, not a link: behind a link the compiler would find the project's own @types/node.
  cpSync(join(ROOT, 'dist'), join(modules, 'lectern/dist'), {
    recursive: true,
    filter: (path) => !/\.(?:js|map|css|png|txt)$/.test(path),
  });
  cpSync(join(ROOT, 'package.json'), join(modules, 'lectern/package.json'));
  symlinkSync(join(MODULES, nodeTypes), join(modules, '@types/node'));
  for (const name of more) symlinkSync(join(MODULES, name), join(modules, name));
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(project, 'program.ts'), program);
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  const compiler = join(MODULES, 'typescript/bin/tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', project], {
    cwd: project,
    encoding: 'utf8',
  });
  return status === 0 ? '' : `${stdout}${stderr}` || `ended with ${status}`;
}

for (const nodeTypes of NODE_TYPES) {
  const { version } = JSON.parse(readFileSync(join(MODULES, nodeTypes, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  test(`the types compile with @types/node ${version} and without skipLibCheck`, (t) => {
    t.equal(compile(t, nodeTypes, PROGRAM), '');
    t.end();
  });
}

test('the oldest and the newest supported @types/node are tried', (t) => {
  const majors = NODE_TYPES.map((name) => {
    const { version } = JSON.parse(readFileSync(join(MODULES, name, 'package.json'), 'utf8'));
    return Number((version as string).split('.')[0]);
  });
  t.strictSame(majors, [20, 22, 24, 26]);
  t.end();
});

/** Replacements in the example that TypeScript requires, by the replaced text. */
const EXPRESS_TYPES: Readonly<Record<string, string>> = {
  "import express from 'express';": `
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
interface User { readonly name: string; readonly studyGroups: readonly string[] | null }
declare global {
  namespace Express {
    interface Request { user: User }
  }
}`,
  'new Map([': 'new Map<string, User>([',
  'function authenticate(req, res, next) {':
    'function authenticate(req: Request, res: Response, next: NextFunction): void {',
  "  req.user = USERS.get(req.get('X-API-Key') ?? '');\n  if (req.user === undefined)":
    "  const user = USERS.get(req.get('X-API-Key') ?? '');\n  if (user !== undefined) req.user = user;\n  if (user === undefined)",
  'server.address().port': '(server.address() as AddressInfo).port',
};

test('examples/express.mjs compiles in TypeScript', (t) => {
  let program = readFileSync(join(ROOT, 'examples/express.mjs'), 'utf8');
  for (const [plain, typed] of Object.entries(EXPRESS_TYPES)) {
    t.ok(program.includes(plain), `the example has ${plain}`);
    program = program.replace(plain, typed);
  }
  t.equal(compile(t, '@types/node', program, ['@types/express']), '');
  const untyped = program.replace('({ user }) =>', '({ usr }) =>');
  t.match(
    compile(t, '@types/node', untyped, ['@types/express']),
    /TS2339.*'usr'/,
    'requests are Express requests',
  );
  t.end();
});
