import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { createProgram } from '../../src/cli/program.js';
import { configurationPage } from '../../src/options/configuration-page.js';
import type { DefaultedName } from '../../src/options/option-types.js';
import {
  checkValue,
  optionsOf,
  resolveOptions,
  resolvePublisher,
  resolveSettings,
  warningsOf,
} from '../../src/options/resolve.js';
import { amount, type CommandName, type Place, type Setting, variableOf } from '../../src/options/setting.js';
import { COMMANDS, SETTINGS, settingsOf, settingsOfCommand } from '../../src/options/table.js';

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

test('docs/configuration.md agrees with the table; npm run docs updates it', async (t) => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  t.equal(page, configurationPage());
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

/** Typed so that a missing name does not compile. */
const DEFAULTED: Readonly<Record<DefaultedName, true>> = {
  port: true,
  host: true,
  workers: true,
  connectionsMax: true,
  streamsMax: true,
  overloadMs: true,
  drainSeconds: true,
  basePath: true,
  compression: true,
  dev: true,
  pages: true,
  identifiers: true,
  unknownParameters: true,
  cacheMb: true,
  refreshSeconds: true,
  watch: true,
  follow: true,
  shrinkPercentMax: true,
  rejectPercentMax: true,
  once: true,
  jwksRefreshSeconds: true,
  tokenType: true,
  adminHost: true,
  unsigned: true,
  feedDays: true,
  days: true,
  accessLog: true,
};

test('types say which options have a default', async (t) => {
  const inTable = SETTINGS.flatMap(({ name, option = name, default: usual }) =>
    usual === undefined ? [] : [name, option],
  );
  t.same(Object.keys(DEFAULTED).sort(), [...new Set(inTable)].sort());
  for (const { option, default: usual } of SETTINGS) {
    // `port` has a default in only one place; the type of the other requires a value.
    if (option !== undefined && option !== 'port') t.equal(option in DEFAULTED, usual !== undefined, option);
  }
});

/** The options of the library as documented by their types: name → comment. */
function documented(file: string): Map<string, Map<string, string>> {
  const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
  const found = new Map<string, Map<string, string>>();
  for (const [, name, body] of text.matchAll(/export interface (\w+)(?:<.*>)? \{\n([\s\S]*?)\n\}/g)) {
    const fields = [...(body ?? '').matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*readonly (\w+)\??:/g)];
    found.set(
      name ?? '',
      new Map(
        fields.map(([, comment, field]) => [field ?? '', (comment ?? '').replaceAll(/\s*\n\s*\*\s*/g, ' ')]),
      ),
    );
  }
  return found;
}

test('option comments give the ranges and defaults of the table', async (t) => {
  const serve = documented('options/option-types.ts');
  const types: readonly (readonly [Place, Map<string, string> | undefined])[] = [
    ['openTimetable', documented('options/option-types.ts').get('TimetableOptions')],
    ['gate', documented('refresh/gate.ts').get('GateOptions')],
    ['serve', serve.get('ServeOptions')],
    ['auth', serve.get('EmbeddedAuthOptions')],
    ['feed', serve.get('FeedServingOptions')],
    ['admin', serve.get('AdminListenerOptions')],
    ['handler', serve.get('EmbeddedHandlerOptions')],
    ['publish', serve.get('PublishingOptions')],
  ];
  for (const [place, comments] of types) {
    const settings = settingsOf(place);
    t.same(
      [...(comments?.keys() ?? [])].sort(),
      [...settings.keys()].sort(),
      `${place}: every option has a comment`,
    );
    for (const [name, { default: usual, kind }] of settings) {
      const comment = comments?.get(name) ?? '';
      const numbers = /(\d+) to (\d+)/.exec(kind.range);
      const spelt = (value: unknown) =>
        typeof value === 'number' && value > 9999 ? value.toLocaleString('en') : String(value);
      if (numbers !== null)
        t.match(
          comment,
          `${spelt(Number(numbers[1]))} to ${spelt(Number(numbers[2]))}`,
          `${place}.${name}: range`,
        );
      if (usual !== undefined)
        t.match(
          comment,
          new RegExp(`Default \`?${spelt(usual).replace('.', '\\.')}`),
          `${place}.${name}: default`,
        );
    }
  }
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
});

test('secrets are never repeated', async (t) => {
  const secrets = SETTINGS.filter(({ isSecret }) => isSecret === true);
  t.ok(secrets.length >= 7, `${secrets.length} secrets`);
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
  const token = { upstreamTokenUrl: 'https://issuer/', upstreamClientId: 'me', upstreamClientSecret: 'x' };
  for (const source of ['https://host/', 'webcal://host/a.ics', 'WEBCALS://host/a.ics'])
    t.doesNotThrow(() => resolveSettings({ source, ...token }), source);
  t.throws(() => resolveSettings({ source: 'file', ...token }), /has no effect/);
  for (const logLevel of ['trace', 'debug', 'info'] as const)
    t.doesNotThrow(() => resolveSettings({ source: 'file', accessLog: 1, logLevel }), logLevel);
  t.end();
});
