/**
 * Folder cli/. The command line: arguments, signals, output and exit codes. This folder answers no request and
 * reads no record.
 */
import { Command, CommanderError, Option } from 'commander';
import type { IdentifierMode } from '../base/model/event.js';
import { FORMATS } from '../base/model/format.js';
import { suggest } from '../base/model/suggest.js';
import { VERSION } from '../base/version.js';
import type { ReadingSettings, ServiceOptions } from '../options/option-types.js';
import { checkValue, resolveReading } from '../options/resolve.js';
import { type CommandName, type Setting, shownDefault, variableOf } from '../options/setting.js';
import { COMMAND_READING_SETTINGS, SETTINGS, settingsOfCommand } from '../options/table.js';
import { isPostgresAddress } from '../source/postgres/postgres-address.js';
import type { ChannelAction } from './channel-command.js';
import type { ExportOptions } from './export-command.js';
import { EXIT_USAGE, reportFailure, writeError } from './faults.js';
import type { QueryProposal } from './propose-query.js';

/**
 * Resolves to the exit code: 0, 1 for a failure, 2 for wrong usage. Each command is imported when it runs, so
 * that `--version` and `--help` do not load the server.
 */
export async function run(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(withKnownHelp(argv, program), { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    return reportFailure(error);
  }
}

/** Turns `help nonsense` into `nonsense`, because commander would print its general help instead of an error. */
function withKnownHelp(argv: readonly string[], program: Command): readonly string[] {
  const [first, second] = argv;
  if (first !== 'help' || second === undefined || second.startsWith('-')) return argv;
  return program.commands.some((command) => command.name() === second) ? argv : [second];
}

export function createProgram(exit: (code: number) => void): Command {
  const program = new Command('lectern')
    .description('A read-only timetable service: loads a timetable into memory and serves it over HTTP.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ helpWidth: 100 })
    .configureOutput({ outputError: (text) => writeError(messageOf(text, program)) })
    .exitOverride();

  addServe(program, exit);
  addStoreCommands(program, exit);

  addInspect(program, exit);
  addExplain(program);
  addExport(program, exit);
  addOpenApi(program);
  return program;
}

function addServe(program: Command, exit: (code: number) => void): void {
  const serve = program
    .command('serve')
    .summary('serve a timetable over HTTP')
    .description('Loads a timetable into memory and serves it over HTTP.')
    .argument(
      '[source...]',
      `${SOURCE}; or an http(s) or postgres address; several sources are merged by id, and the later source wins; or one store, nats://host:4222/name or folder:///path`,
    )
    .addHelpText('after', SERVE_HELP);
  addSettings(serve, 'serve', async (given) => {
    const { serve: runServe } = await import('./serve-command.js');
    exit(await runServe(given as unknown as ServiceOptions));
  });
}

/** The settings of a command that goes on until a signal. */
function addSettings(
  command: Command,
  name: CommandName,
  run: (given: Record<string, unknown>) => Promise<void>,
): void {
  const settings = [...settingsOfCommand(name).values()];
  for (const setting of settings.filter(hasFlag)) command.addOption(toOption(setting));
  command.action((source: readonly string[], parsed: Record<string, unknown>) =>
    run({ ...valuesOf(settings, parsed), source }),
  );
}

/** Commands for many machines: `publish` and `channel`. */
function addStoreCommands(program: Command, exit: (code: number) => void): void {
  const publish = program
    .command('publish')
    .summary('load a timetable and announce it to replicas')
    .description(
      'Loads a timetable, and announces each accepted snapshot in a store. Replicas serve it: lectern serve nats://host:4222/name. ' +
        'If several publishers run, only one announces; if it fails, another takes over within 10 s.',
    )
    .argument('<source...>', 'like those of lectern serve')
    .addHelpText('after', PUBLISH_HELP);
  addSettings(publish, 'publish', async (given) => {
    const { publish: runPublish } = await import('./publish-command.js');
    exit(await runPublish(given));
  });

  const channel = program
    .command('channel')
    .summary('show and choose the image that replicas serve')
    .description('Shows which image the replicas of a store serve, and chooses it.');
  channel
    .command('keys')
    .description('make a pair of keys: NAME.key for the publishers, NAME.pub for the replicas')
    .argument('[name]', 'path and name of the files, without an ending', 'publisher')
    .action(async (name: string) => {
      const { makeKeys } = await import('./channel-command.js');
      makeKeys(name);
    });
  addAction(channel, 'status', 'print the head, the images, the publisher and the replicas', false).option(
    '--json',
    'print JSON, for programs',
  );
  addAction(channel, 'pin', 'let every replica serve this image, until unpin', true);
  addAction(channel, 'unpin', 'let replicas serve the head again', false);
  addAction(
    channel,
    'rollback',
    'pin the last image before the head or, while an image is pinned, before the pinned image',
    false,
  );
}

function addAction(channel: Command, action: ChannelAction, description: string, hasId: boolean): Command {
  const command = channel.command(action).description(description);
  if (hasId) command.argument('<id>', 'id of the image, as status prints it');
  for (const key of CHANNEL_KEYS) command.addOption(toOption(key).helpGroup('Options:'));
  return command.argument('<store>', STORE).action(async (...given: readonly unknown[]) => {
    const [id, store] = (hasId ? given : ['', ...given]) as readonly [string, string];
    const parsed = given[hasId ? 2 : 1] as { readonly json?: boolean };
    const { operateChannel } = await import('./channel-command.js');
    await operateChannel(action, store, id, { ...valuesOf(CHANNEL_KEYS, { ...parsed }), json: parsed.json });
  });
}

function addInspect(program: Command, exit: (code: number) => void): void {
  withReading(program.command('inspect'))
    .summary('report the contents and the faults of a source')
    .description(
      'Loads a source and prints counts, time span, columns, rejected records, conflicts and memory. Proposes a field map if one would help. Exits with 1 if there are no events.',
    )
    .argument(
      '<source...>',
      `${SOURCE}; or an http(s) or postgres address; several sources are merged by id, and the later source wins`,
    )
    .option('--json', 'print JSON, for programs')
    .option('--write <file>', 'write a timetable file that serves the source, with a comment at each guess')
    .option('--force', 'with --write: replace the file if it exists')
    .addHelpText('after', example('lectern inspect timetable.ndjson.gz'))
    .action(async (source: readonly string[], parsed: Record<string, unknown>) => {
      const { json, write, force, ...settings } = parsed;
      const proposed = await proposedFor(source, settings);
      const { query, identifiers } = proposed ?? {};
      const made =
        proposed === null
          ? {}
          : { query, identifiers: settings.identifiers === 'uuid' ? identifiers : settings.identifiers };
      const reading = readingOf(source, { ...settings, ...made });
      const { inspect } = await import('./inspect-command.js');
      exit(
        await inspect(source, reading, {
          asJson: json === true,
          write: write as string | undefined,
          isForced: force === true,
          proposed,
        }),
      );
    });
}

function addExplain(program: Command): void {
  withReading(program.command('explain'))
    .summary('print how a query is answered, with counts and timings')
    .description(
      'Loads a source, plans one query of GET /schedule or of a directory such as GET /schedule/rooms, and prints the plan, ' +
        'with counts and timings.',
    )
    .argument('<source>', `${SOURCE}; or an http(s) or postgres address`)
    .argument('<query>', 'query string of GET /schedule, or a path with a query string, quoted')
    .addOption(toOption(ROOMS))
    .addHelpText('after', example("lectern explain timetable.ndjson 'studyGroup=INF-1A&type=LEC'"))
    .action(async (source: string, query: string, parsed: Record<string, unknown>) => {
      const reading = readingOf(source, parsed);
      const { rooms } = valuesOf([ROOMS], parsed);
      checkValue(ROOMS, rooms);
      const { explain } = await import('./explain-command.js');
      await explain(source, query, reading, rooms as string | undefined);
    });
}

function addExport(program: Command, exit: (code: number) => void): void {
  withReading(program.command('export'))
    .summary('write the events of a query to a file')
    .description(
      'Loads a source and writes the events that GET /schedule would give for the query; without a query, every event. The output file is replaced once everything is written.',
    )
    .argument('<source>', `${SOURCE}; or an http(s) or postgres address`)
    .argument('[query]', 'query string of GET /schedule, or its path with a query string, quoted', '')
    .addOption(
      new Option('-f, --format <name>', 'default: by the ending of --output').choices(
        FORMATS.map(({ name }) => name),
      ),
    )
    .option('-o, --output <file>', 'default: standard output')
    .addHelpText(
      'after',
      example("lectern export timetable.ndjson.gz 'studyGroup=INF-1A' --output INF-1A.ics"),
    )
    .action(async (source: string, request: string, parsed: Record<string, unknown>) => {
      const reading = readingOf(source, parsed);
      const { exportEvents } = await import('./export-command.js');
      const { format, output } = parsed as unknown as ExportOptions;
      exit(await exportEvents(source, request, reading, { format, output }));
    });
}

function addOpenApi(program: Command): void {
  program
    .command('openapi')
    .summary('print the OpenAPI document')
    .description('Prints the OpenAPI 3.1 document of the HTTP interface as JSON, without a source.')
    .addOption(toOption(BASE_PATH).helpGroup('Options:'))
    .addOption(toOption(IDENTIFIERS).helpGroup('Options:'))
    .addHelpText('after', example('lectern openapi --base-path /timetable > openapi.json'))
    .action(async ({ basePath, identifiers }: { basePath: string; identifiers: IdentifierMode }) => {
      checkValue(BASE_PATH, basePath);
      checkValue(IDENTIFIERS, identifiers);
      const { printOpenApi } = await import('./openapi-command.js');
      printOpenApi(basePath, identifiers);
    });
}

const SOURCE =
  'file of CSV, iCalendar, NDJSON, a JSON array or MessagePack, plain or gzipped; - for standard input';

const SERVE_HELP = `
Every option can be given as the environment variable beside it; the command line wins. The secret of HS256
tokens is given as LECTERN_HS256_SECRET or in a file, never on the command line.

Examples:
  lectern serve timetable.ndjson.gz --dev
  LECTERN_HS256_SECRET=… lectern serve timetable.json --host 0.0.0.0 --port 8080
  lectern serve timetable.ndjson --jwks keys.json --issuer https://login.example.org/ --claim studyGroup=groups
  lectern serve timetable.ndjson --jwks https://login.example.org/jwks --audience timetable
  lectern serve https://example.org/api/v1/schedule/all --header 'Authorization: Bearer env:UPSTREAM_TOKEN' \\
    --refresh-seconds 60 --snapshot-file /var/lib/lectern/snapshot
  lectern serve postgres://lectern@db.example.org/school --table events --follow --jwks keys.json`;

const PUBLISH_HELP = `
Examples:
  lectern channel keys
  lectern publish timetable.ndjson --to nats://host:4222/timetable --publisher-key publisher.key
  lectern serve nats://host:4222/timetable --publisher-public-key publisher.pub --dev`;

function example(line: string): string {
  return `\nExample:\n  ${line}`;
}

/** Adds the settings for reading a source. */
function withReading(command: Command): Command {
  for (const setting of COMMAND_READING_SETTINGS) command.addOption(toOption(setting));
  return command;
}

/** A query for a database of which no table is named; null for other sources. */
async function proposedFor(
  [address = '', ...others]: readonly string[],
  { table, query }: Record<string, unknown>,
): Promise<QueryProposal | null> {
  if (others.length > 0 || !isPostgresAddress(address) || (table ?? query) !== undefined) return null;
  const { proposeForDatabase } = await import('./propose-query.js');
  return proposeForDatabase(address);
}

/** The keys of a channel, for its operators. */
const CHANNEL_KEYS = SETTINGS.filter(({ name }) =>
  ['publisherKey', 'publisherPublicKey', 'unsigned'].includes(name),
);
const STORE = (settingsOfCommand('publish').get('publishTo') as Setting).help;
const IDENTIFIERS = SETTINGS.find(({ name }) => name === 'identifiers') as Setting;
const ROOMS = SETTINGS.find(({ name }) => name === 'rooms') as Setting;
const BASE_PATH = SETTINGS.find(({ name }) => name === 'basePath') as Setting;

function readingOf(source: string | readonly string[], parsed: Record<string, unknown>): ReadingSettings {
  return resolveReading({ source, ...valuesOf(COMMAND_READING_SETTINGS, parsed) });
}

function hasFlag({ flag, isEnvironmentOnly }: Setting): boolean {
  return flag !== null && isEnvironmentOnly !== true;
}

function toOption(setting: Setting): Option {
  const { short, flag, help, group, kind, isSwitch, isRequired, default: usual } = setting;
  if (isSwitch === true) return toSwitch(setting);
  const option = new Option(`${short === undefined ? '' : `${short}, `}${flag} <${kind.unit}>`, help)
    .env(variableOf(setting) as string)
    .helpGroup(`${group}:`)
    // All values are checked together, later.
    .argParser((text: string, previous: unknown) => kind.parse?.(text, previous) ?? text);
  if (kind.choices !== undefined) option.argChoices = [...kind.choices];
  if (usual !== undefined) option.default(usual, shownDefault(setting));
  if (isRequired === true) option.makeOptionMandatory();
  return option;
}

/** Commander would take any text in the variable as "on", so `valuesOf` reads the variable. */
function toSwitch(setting: Setting): Option {
  const { flag, help, group } = setting;
  const variable = variableOf(setting);
  return new Option(
    flag as string,
    variable === undefined ? help : `${help} (env: ${variable}, on or off)`,
  ).helpGroup(`${group}:`);
}

/** Commander names values after flags; this function names them after settings. */
function valuesOf(settings: readonly Setting[], parsed: Record<string, unknown>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const setting of settings) {
    const { name, flag, isSwitch, kind } = setting;
    if (flag === null) continue;
    const given = hasFlag(setting) ? parsed[new Option(flag).attributeName()] : undefined;
    const isOfCommander = hasFlag(setting) && isSwitch !== true;
    const text = isOfCommander ? undefined : process.env[variableOf(setting) ?? ''];
    values[name] = given ?? (text === undefined ? undefined : (kind.parse?.(text, undefined) ?? text));
  }
  return values;
}

/** Commander's message without the value of an unknown option, which may be a secret, and with a hint. */
function messageOf(text: string, { commands, args }: Command): string {
  const [, flag] = /unknown option '(-[^'=]+)/.exec(text) ?? [];
  if (flag === undefined) return text;
  const command = commands.find((each) => each.name() === args[0]);
  return `error: unknown option '${flag}' ${hintFor(flag, command?.options ?? [], text)}`;
}

function hintFor(flag: string, options: readonly Option[], text: string): string {
  if (flag === '--hs256-secret')
    return '(the secret is given as LECTERN_HS256_SECRET or with --hs256-secret-file)';
  // Commander suggests nothing for single hyphens, as in `-dev` and `-P`.
  if (flag.startsWith('--')) return /\(Did you mean .*\)/.exec(text)?.[0] ?? '';
  const sameLetter = options.find(({ short }) => short?.toLowerCase() === flag.toLowerCase());
  const longFlags = options.flatMap(({ long }) => long ?? []);
  const near = flag.length === 2 ? sameLetter?.short : suggest(`-${flag}`, longFlags);
  return near ? `(Did you mean ${near}?)` : '';
}
