/**
 * The Dockerfile, step by step, on this machine instead of in a container: copied files exist, commands
 * succeed, and the result serves. The base images are not checked.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { SECRET } from '../auth/tokens.js';
import { HARD } from '../hard/size.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** `npm ci` has installed the same lock file here, and installs all of it again only in a long run. */
const LINK_PACKAGES = `cp -al "$(realpath '${join(ROOT, 'node_modules')}')" node_modules`;

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

function instructionsOf(text: string): Instruction[] {
  const joined = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, '');
  return joined
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...rest] = line.split(' ');
      return { name, rest: rest.join(' ') };
    });
}

/** The patterns that .dockerignore allows. */
function isInContext(path: string): boolean {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  return lines.includes(`!${path.split('/')[0]}`);
}

test('no step of the Dockerfile runs the install scripts of packages', (t) => {
  const runs = instructionsOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).filter(
    ({ name }) => name === 'RUN',
  );
  const commands = runs.flatMap(({ rest }) => rest.split(/&&|;|\|/).map((command) => command.trim()));
  const installing = commands.filter((command) =>
    /^(?:\S*\/)?(?:npm|npx|yarn|pnpm)\b(?! run )/.test(command),
  );
  t.ok(installing.some((command) => command.startsWith('npm ci ')));
  for (const command of installing) t.match(command, / --ignore-scripts(?: |$)/, command);
  t.end();
});

test('the Dockerfile builds an image that runs without privileges', {
  timeout: 300_000,
}, async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'lectern-image-'));
  t.teardown(() => rmSync(scratch, { recursive: true, force: true }));
  const stages: string[] = [];
  let folder = '';
  let env: Record<string, string> = {};
  let command: string[] = [];
  let health: string[] = [];
  for (const { name, rest } of instructionsOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))) {
    switch (name) {
      case 'FROM':
        folder = join(scratch, String(stages.length));
        mkdirSync(folder);
        stages.push(/ AS (\w+)$/.exec(rest)?.[1] ?? 'last');
        if (stages.length === 2) t.match(rest, /:nonroot$/, 'without rights');
        break;
      case 'COPY': {
        const words = rest.split(' ');
        const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
        const target = words.at(-1) as string;
        for (const path of words.slice(from === undefined ? 0 : 1, -1)) {
          if (from === undefined) t.ok(isInContext(path), `${path} is sent to the builder`);
          const source =
            from === undefined
              ? join(ROOT, path)
              : join(scratch, String(stages.indexOf(from)), path.replace('/build/', ''));
          const to = target === './' ? join(folder, path) : join(folder, target);
          mkdirSync(dirname(to), { recursive: true });
          cpSync(source, to, { recursive: true });
        }
        break;
      }
      case 'RUN':
        execFileSync('sh', ['-c', HARD ? rest : rest.replace(/^npm ci .*/, LINK_PACKAGES)], {
          cwd: folder,
          stdio: ['ignore', 'ignore', 'pipe'],
        });
        t.pass(`RUN ${rest}`);
        break;
      case 'ENV':
        env = Object.fromEntries(rest.split(' ').map((pair) => pair.split('=') as [string, string]));
        break;
      case 'HEALTHCHECK':
        health = JSON.parse(rest.slice(rest.indexOf('['))) as string[];
        break;
      case 'ENTRYPOINT':
        command = JSON.parse(rest) as string[];
        break;
    }
  }
  t.strictSame(readdirSync(folder).sort(), ['dist', 'node_modules', 'package.json'], 'and nothing else');
  t.notOk(readdirSync(join(folder, 'node_modules')).includes('typescript'), 'what only builds is left out');
  t.match(command[0], /\/node$/);
  t.match(health[0], /\/node$/);

  const service = spawn(process.execPath, [...command.slice(1), join(ROOT, 'fixtures/demo.ndjson.gz')], {
    cwd: folder,
    env: {
      PATH: '/nowhere',
      ...env,
      LECTERN_HOST: '127.0.0.1',
      LECTERN_PORT: '0',
      LECTERN_ADMIN_PORT: '0',
      LECTERN_HS256_SECRET: SECRET,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(service, 'exit') as Promise<[number | null]>;
  let log = '';
  const adminPort = await new Promise<string>((resolve, reject) => {
    service.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const port = /"admin":"http:\/\/127\.0\.0\.1:(\d+)/.exec(log)?.[1];
      if (port !== undefined && log.includes('timetable published')) resolve(port);
    });
    void ended.then(() => reject(new Error(`the service ended: ${log}`)));
  });
  const probe = (port: string) => {
    const check = spawn(
      process.execPath,
      health.slice(1).map((text) => text.replace(':3001', `:${port}`)),
    );
    return once(check, 'exit').then(([code]) => code as number);
  };
  t.equal(await probe(adminPort), 0, 'healthy');
  service.kill('SIGTERM');
  t.strictSame(await ended, [0, null]);
  t.equal(await probe(adminPort), 1, 'and not when it is gone');
});
