/** The table of settings, and what is made from it. Inside, because each entry is compared with flags, types and docs. */
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { createProgram } from '../../src/cli/program.js';
import { amount } from '../../src/options/kinds.js';
import {
  checkValue,
  optionsOf,
  resolveOptions,
  resolvePublisher,
  resolveSettings,
  warningsOf,
} from '../../src/options/resolve.js';
import { type CommandName, type Setting, shownDefault, variableOf } from '../../src/options/setting.js';
import { COMMANDS, SETTINGS, settingsOf, settingsOfCommand } from '../../src/options/table.js';
import { TIMETABLE } from '../../src/options/timetable-table.js';

type Made = (from: object) => string;
const pages = (await import(new URL('../../scripts/settings-pages.mjs', import.meta.url).href)) as {
  readonly configurationPage: Made;
  readonly optionTypes: Made;
};
const configurationPage = (): string => pages.configurationPage({ SETTINGS, shownDefault, variableOf });
const optionTypes = (): string => pages.optionTypes({ SETTINGS, settingsOf, TIMETABLE });

const MADE_UP: Setting = {
  name: 'teaMinutes',
  places: ['openTimetable'],
  flag: '--tea-minutes',
  commands: ['serve', 'publish'],
  group: 'Data',
  kind: amount('minutes', 1, 9),
  default: 4,
  help: 'how long the tea stands',
};

/** Adds a setting to the one table for the duration of the test. */
function withMadeUp(run: () => void): void {
  const table = SETTINGS as Setting[];
  table.push(MADE_UP);
  try {
    run();
  } finally {
    table.pop();
  }
}

test('a new setting in the table appears everywhere', async (t) => {
  withMadeUp(() => {
    const help =
      createProgram(() => {})
        .commands.find((command) => command.name() === 'serve')
        ?.helpInformation() ?? '';
    t.match(
      help,
      /--tea-minutes <minutes>\s+how long the tea stands \(default: 4, env:\s+LECTERN_TEA_MINUTES\)/,
      'help line',
    );
    t.match(resolveSettings({ source: 'x' }), { teaMinutes: 4 }, 'default on the command line');
    t.match(resolveOptions('openTimetable', { source: 'x' }), { teaMinutes: 4 }, 'default in a program');
    t.match(
      optionsOf('openTimetable', resolveSettings({ source: 'x' })),
      { teaMinutes: 4 },
      'from one to the other',
    );
    const outside = {
      code: 'option-invalid',
      message: '--tea-minutes (LECTERN_TEA_MINUTES) is 10: it must be a number from 1 to 9',
    };
    t.throws(() => resolveSettings({ source: 'x', teaMinutes: 10 } as never), outside, 'check');
    t.throws(() => resolveOptions('openTimetable', { source: 'x', teaMinutes: 0 }), {
      message: 'teaMinutes is 0: it must be a number from 1 to 9',
    });
    t.match(
      configurationPage(),
      '| `--tea-minutes` | `LECTERN_TEA_MINUTES` | serve, publish | a number from 1 to 9 (minutes) | `4` | how long the tea stands | `teaMinutes` of `openTimetable({ … })` |',
      'row of the page',
    );
    t.match(
      optionTypes(),
      '  /** How long the tea stands. Value: a number from 1 to 9. Default: 4. */\n  readonly teaMinutes?: number | undefined;',
      'type of the option',
    );
    t.match(optionTypes(), '\n  readonly teaMinutes: number;\n', 'type of the setting, which has a default');
  });
  t.notMatch(configurationPage(), 'tea-minutes');
});

test('a made-up setting is read from the command line and from its variable', async (t) => {
  const table = SETTINGS as Setting[];
  table.push(MADE_UP);
  t.teardown(() => table.pop());
  const seen = async (argv: readonly string[]): Promise<unknown> => {
    let parsed: unknown;
    const program = createProgram(() => {});
    const serve = program.commands.find((command) => command.name() === 'serve');
    serve?.action((_source, options: Record<string, unknown>) => {
      parsed = options.teaMinutes;
    });
    await program.parseAsync([...argv], { from: 'user' });
    return parsed;
  };
  t.equal(await seen(['serve', 'x', '--tea-minutes', '7']), 7);
  process.env.LECTERN_TEA_MINUTES = '3';
  t.teardown(() => Reflect.deleteProperty(process.env, 'LECTERN_TEA_MINUTES'));
  t.equal(await seen(['serve', 'x']), 3);
});

test('docs/configuration.md and the types of options agree with the table; npm run docs writes them', async (t) => {
  const written = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  t.equal(written('docs/configuration.md'), configurationPage());
  t.equal(written('src/options/option-types.ts'), optionTypes());
});

test('names and variables are unique, and so are the flags of each command', async (t) => {
  const flagsOf = (command: CommandName): readonly string[] =>
    [...settingsOfCommand(command).values()].flatMap(({ flag }) => flag ?? []);
  for (const values of [
    SETTINGS.map(({ name }) => name),
    SETTINGS.flatMap((each) => variableOf(each) ?? []),
    ...COMMANDS.map(flagsOf),
  ]) {
    t.equal(new Set(values).size, values.length);
  }
});

test('a made-up setting of lectern publish appears there alone, and is checked', async (t) => {
  const table = SETTINGS as Setting[];
  table.push({ ...MADE_UP, commands: ['publish'] });
  t.teardown(() => table.pop());
  const helpOf = (name: string): string =>
    createProgram(() => {})
      .commands.find((command) => command.name() === name)
      ?.helpInformation() ?? '';
  t.match(helpOf('publish'), /--tea-minutes <minutes>\s+how long the tea stands/);
  t.notMatch(helpOf('serve'), 'tea-minutes');
  const given = { source: 'x', publishTo: 'y', publisherKey: 'z' };
  t.match(resolvePublisher(given), { teaMinutes: 4 });
  t.throws(() => resolvePublisher({ ...given, teaMinutes: 10 }), {
    message: '--tea-minutes (LECTERN_TEA_MINUTES) is 10: it must be a number from 1 to 9',
  });
  t.match(configurationPage(), '| `--tea-minutes` | `LECTERN_TEA_MINUTES` | publish |');
});

test('a publisher in a program has its options checked', async (t) => {
  t.throws(() => resolveOptions('publish', { to: 'x' }), { message: 'publisherKey is missing' });
  t.throws(() => resolveOptions('publish', { to: '', publisherKey: 'k' }), {
    message: /^to is "": it must not be/,
  });
  t.throws(() => resolveOptions('publish', { to: 'x', publisherkey: 'k' }), {
    message: /did you mean publisherKey\?/,
  });
});

test('every default passes its own check', async (t) => {
  for (const { name, kind, default: usual } of SETTINGS)
    if (usual !== undefined) t.equal(kind.fault(usual), null, name);
});

test('only a source that may stay unchanged is warned of becoming stale', async (t) => {
  for (const [source, count] of [
    ['events.ndjson', 1],
    ['folder:///store', 0],
    ['nats://host/name', 0],
  ] as const) {
    const publisherPublicKey = count === 0 ? 'publisher.pub' : undefined;
    const settings = resolveSettings({ source, publisherPublicKey, staleSecondsMax: 60 });
    t.equal(warningsOf(settings).length, count, source);
  }
});

test('a wrong origin is repeated, with what would be right', async (t) => {
  const fault = SETTINGS.find(({ name }) => name === 'corsOrigins')?.kind.fault;
  for (const [origin, expected] of [
    ['https://timetable.example.org', null],
    ['*', 'it must be an exact origin, without wildcards, but was "*"'],
    ['timetable', 'it must be an origin, such as https://timetable.example.org, but was "timetable"'],
    ['ftp://a.example', 'it must begin with https:// or http://, but was "ftp://a.example"'],
    ['https://ada:secret@a.example/', 'it must be only an origin: https://a.example'],
    ['ftp://ada:secret@a.example', 'it must begin with https:// or http://, but was "a.example"'],
  ] as const)
    t.equal(fault?.([origin]), expected);
  // Only the spelling that browsers use is accepted.
  for (const good of ['http://localhost:8080', 'https://[::1]:8443', 'https://xn--bcher-kva.example'])
    t.equal(fault?.([good]), null, good);
  const bad = ['null', '', 'timetable.example.org', 'https://a.example/', 'https://a.example:443'];
  bad.push('HTTPS://a.example', 'https://*.example.org', 'https://user@a.example', 'file:///tmp');
  for (const each of [...bad, 'https://a.example\r\nX: y']) t.match(fault?.([each]), /^it must /, each);
});

test('secrets are never repeated', async (t) => {
  const secrets = SETTINGS.filter(({ isSecret }) => isSecret === true);
  t.ok(secrets.length >= 4, `${secrets.length} secrets`);
  for (const setting of secrets) {
    for (const value of ['ftp://hidden', { hidden: 'hidden' }, ['hidden']]) {
      // A kind that accepts the value is replaced, because its check must not matter.
      const kind = { ...setting.kind, fault: () => 'it must be otherwise' };
      t.throws(
        () => checkValue({ ...setting, kind }, value),
        { code: 'option-invalid', message: /^(?!.*hidden).* is invalid: it must be otherwise$/ },
        setting.name,
      );
    }
    if (setting.kind.fault('ftp://hidden') === null) continue;
    const given = { source: 'x', [setting.name]: 'ftp://hidden' } as never;
    t.throws(() => resolveSettings(given), { message: /^(?!.*hidden)/ }, setting.name);
  }
});

test('settings with an effect are accepted', (t) => {
  for (const logLevel of ['trace', 'debug', 'info'] as const)
    t.doesNotThrow(() => resolveSettings({ source: 'file', accessLog: 1, logLevel }), logLevel);
  for (const jwks of ['https://issuer.example/keys', 'HTTPS://issuer.example'])
    t.doesNotThrow(() => resolveSettings({ source: 'file', jwks, jwksRefreshSeconds: 60 }), jwks);
  t.end();
});
