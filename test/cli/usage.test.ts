import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { test } from 'tap';
import { lectern } from './lectern.js';
import { assertOneLine, runHere, SECRET } from './run-here.js';

const DEMO = 'fixtures/demo.ndjson.gz';

interface Case {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly code: 1 | 2;
  readonly message: RegExp;
}

const USAGE: readonly Case[] = [
  {
    name: 'no source',
    argv: ['serve', '--dev'],
    code: 2,
    message: /no source is given; expected a file, .* or --pin$/m,
  },
  {
    name: 'a source beside --pin',
    argv: ['serve', 'a', '--pin', 'b', '--dev'],
    code: 2,
    message: /--pin serves a snapshot file instead of a source: give one of the two/,
  },
  {
    name: 'unknown command',
    argv: ['serv', 'x'],
    code: 2,
    message: /unknown command 'serv' \(Did you mean serve\?\)/,
  },
  {
    name: 'unknown option',
    argv: ['serve', 'x', '--prot', '80'],
    code: 2,
    message: /'--prot' \(Did you mean --port\?\)/,
  },
  {
    name: 'long option with one hyphen',
    argv: ['serve', 'x', '-refresh-seconds', '9'],
    code: 2,
    message: /'-refresh-seconds' \(Did you mean --refresh-seconds\?\)$/m,
  },
  {
    name: 'short option in capitals',
    argv: ['serve', 'x', '-P', '80'],
    code: 2,
    message: /'-P' \(Did you mean -p\?\)$/m,
  },
  { name: 'short option like no other', argv: ['serve', 'x', '-x'], code: 2, message: /option '-x'$/m },
  {
    name: 'explain with the path of another endpoint',
    argv: ['explain', 'no-such-file', '/api/v1/schedule/all?limit=1'],
    code: 2,
    message: /only GET \/schedule, .*\/schedule\/free can be explained, not "\/api\/v1\/schedule\/all"$/m,
  },
  {
    name: 'explain with a path and a fault',
    argv: ['explain', 'no-such-file', '/api/v1/schedule?limit=0'],
    code: 2,
    message: /^error: limit: "0" is not/m,
  },
  {
    name: 'port that is no number',
    argv: ['serve', 'x', '--dev', '--port', 'http'],
    code: 2,
    message: /0 to 65535/,
  },
  {
    name: 'port out of range',
    argv: ['serve', 'x', '--dev', '--port', '65536'],
    code: 2,
    message: /0 to 65535/,
  },
  {
    name: 'help of an unknown command',
    argv: ['help', 'serve2'],
    code: 2,
    message: /unknown command 'serve2' \(Did you mean serve\?\)/,
  },
  {
    name: 'choice of many',
    argv: ['serve', 'x', '--dev', '--log-level', 'loud'],
    code: 2,
    message: /is "loud": it must be fatal, error, warn, info, debug, trace or silent/,
  },
  {
    name: 'watch that is neither',
    argv: ['serve', 'x', '--dev', '--watch', 'yes'],
    code: 2,
    message: /is "yes": it must be on or off/,
  },
  {
    name: 'explain with many faults, of a source that is never read',
    argv: ['explain', 'no-such-file', '?studyGrop=x&limit=0&type=%zz&roomId=1'],
    code: 2,
    message: /encoding of the value is broken.*did you mean studyGroup\?; roomId: .*; limit: "0" is not/,
  },
  {
    name: 'enrolments that do not exist',
    argv: ['serve', DEMO, '--dev', '--port', '0', '--enrolments', 'no-such-map'],
    code: 1,
    message: /enrolment map no-such-map cannot be read: there is no such file$/m,
  },
  {
    name: 'base path without slash',
    argv: ['serve', 'x', '--dev', '--base-path', 'api'],
    code: 2,
    message: /begins with "\/"/,
  },
  {
    name: 'claim without name',
    argv: ['serve', 'x', '--dev', '--claim', 'studyGroup='],
    code: 2,
    message: /field=claim/,
  },
  {
    name: 'claim for no field',
    argv: ['serve', 'x', '--dev', '--claim', 'room=r'],
    code: 2,
    message: /one of the fields .*studyGroup/,
  },
  {
    name: 'log level that does not exist',
    argv: ['serve', 'x', '--dev', '--log-level', 'loud'],
    code: 2,
    message: /debug/,
  },
  {
    name: 'wrong value in the environment',
    argv: ['serve', 'x', '--dev'],
    env: { LECTERN_PORT: 'x' },
    code: 2,
    message: /\(LECTERN_PORT\) is "x": it must be a whole number/,
  },
  {
    name: 'empty value in the environment',
    argv: ['serve', 'x', '--dev'],
    env: { LECTERN_ISSUER: '' },
    code: 2,
    message: /LECTERN_ISSUER.*empty/,
  },
  {
    name: 'empty secret',
    argv: ['serve', 'x', '--dev'],
    env: { LECTERN_HS256_SECRET: '' },
    code: 2,
    message: /^error: LECTERN_HS256_SECRET is invalid: it must not be empty$/m,
  },
  {
    name: 'secret on the command line',
    argv: ['serve', 'x', `--hs256-secret=${SECRET}`],
    code: 2,
    message:
      /unknown option '--hs256-secret' \(the secret is given as LECTERN_HS256_SECRET or with --hs256-secret-file\)$/m,
  },
  {
    name: 'secret behind the option',
    argv: ['serve', 'x', '--hs256-secret', SECRET],
    code: 2,
    message: /unknown option '--hs256-secret' \(the secret is given as LECTERN_HS256_SECRET/,
  },
  {
    name: 'secret given twice',
    argv: ['serve', DEMO, '--dev', '--hs256-secret-file', 'f'],
    env: { LECTERN_HS256_SECRET: SECRET },
    code: 2,
    message: /given twice/,
  },
  {
    name: 'enrolments of another form',
    argv: ['serve', DEMO, '--dev', '--enrolments', 'package.json'],
    code: 1,
    message: /package\.json, entry 1/,
  },
  {
    name: 'explain with an unknown parameter',
    argv: ['explain', DEMO, 'studyGrop=x'],
    code: 2,
    message: /did you mean studyGroup/,
  },
  {
    name: 'source that does not exist',
    argv: ['serve', 'no-such-file', '--dev', '--port', '0'],
    code: 1,
    message: /no-such-file: there is no such file/,
  },
  {
    name: 'folder without a source',
    argv: ['inspect', 'src'],
    code: 1,
    message: /cannot read src: no file in it ends in \.ndjson/,
  },
  {
    name: 'source of no known format',
    argv: ['inspect', 'LICENSE'],
    code: 1,
    message: /LICENSE: line 1, column 1/,
  },
  {
    name: 'short secret',
    argv: ['serve', DEMO, '--dev'],
    env: { LECTERN_HS256_SECRET: 'short-secret' },
    code: 2,
    message: /^error: LECTERN_HS256_SECRET is invalid: it has 12 bytes; HS256 needs at least 32$/m,
  },
  {
    name: 'short secret in base64',
    argv: ['serve', DEMO, '--dev'],
    env: { LECTERN_HS256_SECRET: `base64:${'A'.repeat(40)}` },
    code: 2,
    message: /^error: LECTERN_HS256_SECRET is invalid: it has 30 bytes; HS256 needs at least 32$/m,
  },
  {
    name: 'secret that is not base64',
    argv: ['serve', DEMO, '--dev'],
    env: { LECTERN_HS256_SECRET: `base64:${SECRET}` },
    code: 2,
    message:
      /^error: LECTERN_HS256_SECRET is invalid: it begins with base64:, but the rest is not base64 \(RFC 4648\)$/m,
  },
  {
    name: 'secret file that does not exist',
    argv: ['serve', DEMO, '--dev', '--hs256-secret-file', 'no-such-file'],
    code: 1,
    message: /HS256 secret file no-such-file/,
  },
  {
    name: 'key set that is none',
    argv: ['serve', DEMO, '--dev', '--jwks', 'package.json'],
    code: 1,
    message: /not a JSON Web Key Set/,
  },
];

test('every fault gives one clear line on standard error, and an exit code', async (t) => {
  for (const { name, argv, env = {}, code, message } of USAGE) {
    assertOneLine(t, await runHere(t, argv, env), code, message, name);
  }
});

test('the process exits with the code of the fault', async (t) => {
  assertOneLine(t, await lectern(['serve', '--dev']), 2, /no source is given/, 'usage');
  const failure = await lectern(['serve', 'no-such-file', '--dev', '--port', '0']);
  assertOneLine(t, failure, 1, /there is no such file/, 'failure');
});

test('impossible options of tokens are refused, without repeating an address', async (t) => {
  const address = 'https://issuer.example/keys';
  const cases: readonly (readonly [argv: readonly string[], message: RegExp])[] = [
    [
      ['--jwks', `https://user:${SECRET}@issuer.example/keys`],
      /--jwks \(LECTERN_JWKS\) is invalid: its address must not hold a user or password$/m,
    ],
    [['--jwks', 'https://'], /it is not a valid address; expected https:/],
    [
      ['--jwks', `ftp://user:${SECRET}@issuer.example/keys`],
      /--jwks \(LECTERN_JWKS\) is invalid: a key set of the scheme ftp cannot be read; expected a path, http:\/\/… or https:\/\/…$/m,
    ],
    [['--jwks', ''], /must not be empty/],
    [['--jwks', address, '--jwks-refresh-seconds', '0.5'], /--jwks-refresh-seconds .* from 1 to 86400/],
    [['--jwks-refresh-seconds', '60'], /--jwks-refresh-seconds has no effect/],
    [
      ['--jwks', 'keys.json', '--jwks-refresh-seconds', '60'],
      /--jwks-refresh-seconds has no effect, as --jwks is not/,
    ],
    [['--token-type', 'at+jwt', '--issuer', 'i'], /--token-type at\+jwt needs --issuer and --audience/],
    [['--token-type', 'at+jwt', '--audience', 'a'], /--token-type at\+jwt needs/],
    [['--token-type', 'jwt'], /--token-type .*any.*at\+jwt/],
  ];
  for (const [argv, message] of cases)
    assertOneLine(t, await runHere(t, ['serve', DEMO, '--dev', ...argv]), 2, message, argv.join(' '));
});

test('options without effect are refused', async (t) => {
  const address = 'http://127.0.0.1:9/';
  const cases: readonly (readonly [argv: readonly string[], message: RegExp])[] = [
    [['-', '-'], /standard input \(-\) is given twice/],
    [['-', '--stale-seconds-max', '5'], /--stale-seconds-max does not work with standard input \(-\)/],
    [['-', '--refresh-seconds', '5'], /--refresh-seconds cannot load standard input \(-\) again/],
    [[address, '-', '--refresh-seconds', '5'], /--refresh-seconds cannot load standard input/],
    [['x', '--header', `A: ${SECRET}`], /header A has no effect, as no source is an http\(s\) address/],
    [
      ['x', '--access-log', '1', '--log-level', 'warn'],
      /--access-log has no effect with --log-level above info/,
    ],
    [['x', '--access-log', '0.1', '--log-level', 'silent'], /--access-log has no effect/],
    [['--pin', 'x', '--snapshot-file', 'y'], /--snapshot-file has no effect with --pin/],
    [['--pin', 'x', '--stale-seconds-max', '9'], /--stale-seconds-max has no effect with --pin/],
    [['--pin', 'x', '--shrink-percent-max', '9'], /--shrink-percent-max has no effect with --pin/],
    [['--pin', 'x', '--reject-percent-max', '9'], /--reject-percent-max has no effect with --pin/],
    [['--pin', 'x', '--refresh-seconds', '9'], /--refresh-seconds has no effect with --pin/],
    [
      ['--pin', 'x', '--header', `A: ${SECRET}`, '--admin-host', '::1'],
      /--header has no effect with --pin.*; --admin-host has no effect without/,
    ],
  ];
  for (const [argv, message] of cases) {
    assertOneLine(t, await runHere(t, ['serve', ...argv, '--dev']), 2, message, argv.join(' '));
  }
});

test('a snapshot file that is unwritable or would replace a source is refused at the start', async (t) => {
  const folder = t.testdir({
    ...{ source: '', sub: {} },
    linked: t.fixture('symlink', 'source'),
    dangling: t.fixture('symlink', 'none/snapshot'),
  });
  const file = join(folder, 'source');
  const cases: readonly (readonly [source: string, snapshot: string, message: RegExp])[] = [
    [DEMO, join(folder, 'none', 'snapshot'), /cannot be written: there is no folder .*none$/m],
    [DEMO, join(file, 'snapshot'), /cannot be written: .*source is not a directory$/m],
    [DEMO, join(folder, 'sub'), /cannot be written: it is a directory; expected the path of a file$/m],
    [DEMO, '/dev/null', /cannot be written: it is not a regular file/],
    [file, file, /cannot be written: it would replace the source .*source; expected another path/],
    [file, join(folder, 'linked'), /it would replace the source/],
    [join(folder, 'linked'), file, /it would replace the source/],
    [file, relative(process.cwd(), file), /it would replace the source/],
    [file, join(folder, 'sub', '..', 'source'), /it would replace the source/],
    [DEMO, join(folder, 'dangling'), /cannot be written: there is no folder .*none$/m],
  ];
  for (const [source, snapshot, message] of cases) {
    const options = ['--dev', '--port', '0', '--snapshot-file', snapshot];
    assertOneLine(t, await runHere(t, ['serve', source, ...options]), 2, message, snapshot);
  }
  const merged = await runHere(t, ['serve', DEMO, file, '--dev', '--port', '0', '--snapshot-file', file]);
  assertOneLine(t, merged, 2, /it would replace the source/, 'one of several sources');
});

test('a taken port is reported before the source is read', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? String(address.port) : '';
  const outcome = await runHere(t, ['serve', 'no-such-file', '--dev', '--port', port]);
  assertOneLine(
    t,
    outcome,
    1,
    new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}: the port is taken`),
    'port',
  );
});

test('--version, --help and the help of every command are printed', async (t) => {
  const version = await runHere(t, ['--version']);
  t.match(version, { code: 0, stderr: '', stdout: /^\d+\.\d+\.\d+\n$/ });
  const help = await runHere(t, ['--help']);
  t.equal(help.code, 0);
  for (const command of ['serve', 'inspect', 'explain', 'export']) t.match(help.stdout, command);
  const commands = [...help.stdout.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name]) => String(name));
  t.ok(commands.length >= 8, `${commands.length} commands`);
  for (const command of commands) {
    const { code, stdout } = await runHere(t, [command, '--help']);
    t.equal(code, 0, command);
    t.notMatch(stdout, /[a-z)]\.[A-Z][a-z]+ /, `sentences of ${command} do not touch`);
  }
  const serve = await runHere(t, ['serve', '--help']);
  for (const part of ['--port', 'default: 3000', 'LECTERN_PORT', 'LECTERN_HS256_SECRET', 'Examples:']) {
    t.match(serve.stdout, part);
  }
  const nothing = await runHere(t, []);
  t.equal(nothing.code, 2, 'no command at all prints the help, too');
  t.match(nothing.stderr, 'Usage: lectern');
});
