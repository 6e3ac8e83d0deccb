/** A real PostgreSQL server of this machine, in its own folder, for the duration of a test. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { until } from '../../waiting/until.js';

const DEBIAN = '/usr/lib/postgresql';

function findPrograms(): string | null {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ];
  return (
    folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))) ??
    null
  );
}

const PROGRAMS: string | null = findPrograms();

/** The server refuses to run as root. */
export function owner(): { uid: number; gid: number } | object {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(spawnSync('id', [flag, 'postgres']).stdout?.toString());
  const [uid, gid] = [idOf('-u'), idOf('-g')];
  return uid > 0 ? { uid, gid } : {};
}

/** Why a server cannot be started; false if it can. */
export const skip: string | false =
  PROGRAMS === null
    ? 'PostgreSQL is not installed (apt-get install postgresql)'
    : process.getuid?.() === 0 && !('uid' in owner()) && 'root has no user postgres to run the server';

type Teardown = (end: () => unknown) => unknown;

export interface TestServer {
  readonly port: number;
  /** The folder of its data. */
  readonly folder: string;
  /** Connects as the superuser or another user. */
  url(database?: string, user?: string): string;
  /** Runs statements as the superuser. */
  sql<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<Row[]>;
  /** A separate connection, closed at the end. */
  connect(): Promise<pg.Client>;
  /** A line of postgresql.conf; it needs a restart. */
  set(line: string): void;
  start(): Promise<void>;
  /** `fast` stops like an operator, `immediate` like a crash. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
}

export interface ServerOptions {
  /** The method of pg_hba.conf for TCP. Default `trust`. */
  readonly auth?: string;
  readonly settings?: readonly string[];
}

/** Data does not survive a power failure, and a start takes a second. */
const SETTINGS = [
  'fsync = off',
  "listen_addresses = '127.0.0.1'",
  'wal_level = logical',
  'max_connections = 40',
  'shared_buffers = 32MB',
  "log_min_messages = 'fatal'",
];

function ownedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-postgres-'));
  const user = owner();
  if ('uid' in user) chownSync(folder, user.uid as number, (user as { gid: number }).gid);
  return folder;
}

/** By method of login: the data of a fresh server. Making it takes two seconds of processor time, copying it 0.1 s. */
const templates = new Map<string, string>();

function templateOf(auth: string): string {
  const known = templates.get(auth);
  if (known !== undefined) return known;
  const folder = ownedFolder();
  const data = join(folder, 'data');
  const locale = ['-E', 'UTF8', '--locale', 'C'];
  const logins = ['-U', 'postgres', '--auth-local', 'trust', '--auth-host', auth];
  execFileSync(join(PROGRAMS as string, 'initdb'), ['-D', data, '-N', ...locale, ...logins], {
    ...owner(),
    stdio: 'ignore',
    cwd: folder,
  });
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  templates.set(auth, data);
  return data;
}

export async function startServer(
  teardown: Teardown,
  { auth = 'trust', settings = [] }: ServerOptions = {},
): Promise<TestServer> {
  const folder = ownedFolder();
  const user = owner();
  const data = join(folder, 'data');
  execFileSync('cp', ['-a', templateOf(auth), data]);
  const run = (name: string): string => join(PROGRAMS as string, name);
  const port = await freePort();
  const set = (line: string): void => appendFileSync(join(data, 'postgresql.conf'), `\n${line}\n`);
  for (const line of [...SETTINGS, `unix_socket_directories = '${folder}'`, ...settings]) set(line);
  let child: ChildProcess | null = null;
  const admin = { host: folder, port, user: 'postgres', database: 'postgres' };

  async function withClient<Value>(use: (client: pg.Client) => Promise<Value>): Promise<Value> {
    const client = new pg.Client(admin);
    client.on('error', () => {});
    await client.connect();
    try {
      return await use(client);
    } finally {
      await client.end();
    }
  }

  const server: TestServer = {
    port,
    folder: data,
    url: (database = 'postgres', name = 'postgres') => `postgres://${name}@127.0.0.1:${port}/${database}`,
    sql: (text, values = []) =>
      withClient(async (client) => {
        const result = await client.query(text, [...values]);
        return (Array.isArray(result) ? [] : result.rows) as never;
      }),
    async connect() {
      const client = new pg.Client(admin);
      client.on('error', () => {});
      await client.connect();
      teardown(() => client.end().catch(() => {}));
      return client;
    },
    set,
    async start() {
      child = spawn(run('postgres'), ['-D', data, '-p', String(port)], {
        ...user,
        stdio: 'ignore',
        cwd: folder,
      });
      const started = child;
      await until(async () => {
        if (started.exitCode !== null) throw new Error(`PostgreSQL ended with ${started.exitCode}`);
        return withClient(async () => true).catch(() => false);
      });
    },
    async stop(how) {
      if (child === null || child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
      await ended;
    },
  };
  teardown(async () => {
    await server.stop('immediate');
    rmSync(folder, { recursive: true, force: true });
  });
  await server.start();
  return server;
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as { port: number };
  listener.close();
  await once(listener, 'close');
  return port;
}

/** A table with the fields of an event in PostgreSQL types, and `count` rows. */
export function eventsTable(name: string, count: number): string {
  return `CREATE TABLE ${name} (
      id uuid PRIMARY KEY, "time" timestamptz NOT NULL, "endTime" timestamptz NOT NULL, title text, "roomId" uuid, "courseId" uuid,
      "studyGroup" text, lecturer text, type text, "groupId" uuid, "lecturerId" uuid);
    INSERT INTO ${name} SELECT md5('event' || n)::uuid, '2026-09-01T08:00:00Z'::timestamptz + (n % 5000) * interval '15 minutes',
      '2026-09-01T09:30:00Z'::timestamptz + (n % 5000) * interval '15 minutes', 'Lesson ' || n, md5('room' || n % 400)::uuid,
      md5('course' || n % 900)::uuid, 'G-' || n % 300, 'Lecturer ' || n % 500, CASE WHEN n % 3 = 0 THEN 'LEC' ELSE 'SEM' END,
      md5('group' || n % 300)::uuid, md5('lecturer' || n % 500)::uuid FROM generate_series(1, ${count}) n;`;
}
