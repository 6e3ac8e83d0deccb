/**
 * What is made from the table of settings: docs/configuration.md and src/options/option-types.ts. Callers give the table and
 * its functions, because scripts import it from src/, and tests from src/ or from the build.
 */

import { timetableTypes } from './timetable-pages.mjs';

/** The objects of options of the library: their types, what they are, and how a program passes them. */
const OBJECTS = {
  openTimetable: {
    type: 'TimetableOptions',
    is: 'How a timetable is opened: from a source, or from a timetable file. The other options have defaults.',
    passed: 'openTimetable({ … })',
  },
  gate: { passed: 'openTimetable({ gate: { … } })' },
  serve: {
    type: 'ServeOptions',
    is: 'How `serve()` serves a timetable. Production needs a key that verifies tokens.',
    passed: 'serve({ … })',
  },
  handler: {
    type: 'EmbeddedHandlerOptions<Request extends IncomingMessage = IncomingMessage>',
    shares: 'ServeOptions',
    is: 'A handler for an existing server, which does CORS itself. Without `auth` every request is accepted. `Request` is the type of its requests.',
    passed: 'handler({ … })',
  },
  publish: {
    type: 'PublishingOptions',
    is: 'Where and how a timetable is published.',
    passed: 'publishTimetable(…, { … })',
  },
  auth: {
    type: 'EmbeddedAuthOptions',
    is: 'How bearer tokens are verified. At least one kind of key is required.',
    passed: '{ auth: { … } }',
  },
  feed: {
    type: 'FeedServingOptions',
    is: 'Feeds: addresses that show one timetable without a token, for calendar programs.',
    passed: '{ feed: { … } }',
  },
  admin: { type: 'AdminListenerOptions', is: 'The admin listener.', passed: 'serve({ admin: { … } })' },
};

const TYPES_HEAD = `/** Made from the table of settings by \`npm run docs\`. Do not edit. */
import type { IncomingMessage } from 'node:http';
import type { IdentityValues } from '../auth/identity.js';
import type { TokenType } from '../auth/verifier.js';
import type { IdentifierMode } from '../base/model/event.js';
import type { DateOrder, FieldMap, FieldValue, Term, WeeklyPattern } from '../base/model/read-rules.js';
import type { Room } from '../base/model/room.js';
import type { Logger } from '../http/logger.js';
import type { GateOptions } from '../refresh/gate.js';
import type { AnySource } from '../refresh/loader.js';
import type { Records } from '../source/memory-source.js';
import type { PostgresSpec } from '../source/postgres/postgres-address.js';
import type { LoadProgress } from '../source/source.js';
import type { Place } from './setting.js';
`;

const TYPES_TAIL = `/** All settings of \`lectern serve\`, flat. Only the source has no default; production also needs a key. */
export type ServiceOptions = Partial<ResolvedSettings> & Pick<ResolvedSettings, 'source'>;

/** All settings of \`lectern publish\`, flat. */
export type PublisherSettings = ResolvedSettings & { readonly publishTo: string };

/** The options from which the rules of reading are made. */
export type RuleOption =
  | 'identifiers'
  | 'fieldMap'
  | 'dateOrder'
  | 'timeZone'
  | 'calendarFrom'
  | 'calendarTo';

/** The settings of reading a source. */
export type ReadingSettings = Pick<ResolvedSettings, RuleOption | 'sourceHeaders' | 'table' | 'query'>;

interface OptionsByPlace {
${Object.entries(OBJECTS)
  .map(([place, { type = 'GateOptions' }]) => `  readonly ${place}: ${type.split('<')[0]};`)
  .join('\n')}
}
`;

/** @returns {string} src/options/option-types.ts */
export function optionTypes({ SETTINGS, settingsOf, TIMETABLE }) {
  const objects = Object.entries(OBJECTS).flatMap(([place, { type, is, shares }]) => {
    if (type === undefined) return [];
    const shared =
      shares === undefined ? [] : [...settingsOf(place)].filter(([, { places }]) => places.includes('serve'));
    const own = [...settingsOf(place)].filter((entry) => !shared.some(([name]) => name === entry[0]));
    const base =
      shares === undefined
        ? ''
        : `\n  extends Pick<\n    ${shares},\n    ${shared.map(([name]) => `'${name}'`).join(' | ')}\n  >`;
    const members = own.map(([name, setting]) => {
      const isNeeded = setting.isRequired || setting.isRequiredInProgram;
      return `  /** ${commentOf(setting)} */\n  ${memberOf(name, setting, isNeeded)}`;
    });
    return [`/** ${is} */\nexport interface ${type}${base} {\n${members.join('\n')}\n}\n`];
  });
  const onlyServed = [...settingsOf('openTimetable')]
    .filter(([, { commands, places }]) => !commands.includes('publish') || places.includes('publish'))
    .map(([name]) => `'${name}'`);
  const flat = SETTINGS.filter(({ flag }) => flag !== null).map(
    (setting) => `  ${memberOf(setting.name, setting, setting.default !== undefined)}`,
  );
  const renamed = SETTINGS.filter(
    ({ option, default: usual }) => option !== undefined && usual !== undefined,
  );
  return [
    TYPES_HEAD,
    ...objects,
    timetableTypes(TIMETABLE),
    `/** The options of a timetable that concern its loads. */\nexport type PublishedTimetable = Omit<\n  TimetableOptions,\n${onlyServed.map((name) => `  | ${name}`).join('\n')}\n>;\n`,
    '/** All settings of the commands, flat, with defaults filled in. */\nexport interface ResolvedSettings {',
    "  /** Several paths or addresses are merged; the later source wins. */\n  readonly source: TimetableOptions['source'] | readonly string[];",
    `${flat.join('\n')}\n}\n`,
    TYPES_TAIL,
    '/** Names of settings and options that have a default. */',
    'type DefaultedName =',
    '  | {\n      [Name in keyof ResolvedSettings]-?: undefined extends ResolvedSettings[Name] ? never : Name;\n    }[keyof ResolvedSettings]',
    `${renamed.map(({ option }) => `  | '${option}'`).join('\n')};\n`,
    'export type Resolved<P extends Place> = Omit<OptionsByPlace[P], DefaultedName> & {',
    '  readonly [Name in DefaultedName & keyof OptionsByPlace[P]]-?: NonNullable<OptionsByPlace[P][Name]>;\n};\n',
  ].join('\n');
}

function memberOf(name, { kind }, isNeeded) {
  const type = kind.type.includes('=>') && !isNeeded ? `(${kind.type})` : kind.type;
  return isNeeded ? `readonly ${name}: ${type};` : `readonly ${name}?: ${type} | undefined;`;
}

/** The help, the range and the default, in sentences. */
function commentOf({ help, kind, flag, default: usual }) {
  const isSwitch = kind.choices !== undefined && kind.type === 'boolean';
  const isTold = isSwitch || flag === null || ['a path', 'text that is not empty'].includes(kind.range);
  return [
    `${help[0].toUpperCase()}${help.slice(1)}.`,
    ...(isTold ? [] : [`Value: ${kind.range}.`]),
    ...(usual === undefined ? [] : [`Default: ${usual}.`]),
  ].join(' ');
}

const PAGE_HEAD = `# Configuration

This page is for people who look for a setting. \`npm run docs\` makes the page from the table of settings in
\`src/options/\`.

\`lectern serve\` and \`lectern publish\` take a setting as a flag or as an environment variable; the flag wins. The third
column names the commands that have the setting. A program gives a setting as an option of the library, under the name in
the last column. An empty cell means that the setting cannot be given in this way. Values are checked once, before anything
is loaded. A setting that has no effect with the other settings is refused. Secrets are never flags, because the process
list would show them. \`lectern serve --help\` and \`lectern publish --help\` print the flags with their variables.
`;

const TABLE_HEAD =
  '| flag | variable | commands | value | default | what it does | in a program |\n|---|---|---|---|---|---|---|';

/** @returns {string} docs/configuration.md */
export function configurationPage({ SETTINGS, shownDefault, variableOf }) {
  const groups = [...new Set(SETTINGS.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const rows = SETTINGS.filter((setting) => setting.group === group).map((setting) =>
      rowOf(setting, { shownDefault, variableOf }),
    );
    return `## ${group}\n\n${TABLE_HEAD}\n${rows.join('\n')}\n`;
  });
  return [PAGE_HEAD, ...sections].join('\n');
}

function rowOf(setting, { shownDefault, variableOf }) {
  const { name, option, places, commands, short, flag, isEnvironmentOnly, help } = setting;
  const flags = isEnvironmentOnly === true ? [] : [short, flag];
  const cells = [
    flags.filter(Boolean).map(code).join(', '),
    code(variableOf(setting)),
    flag === null ? '' : commands.join(', '),
    valuesOf(setting),
    setting.default === undefined ? '' : code(shownDefault(setting)),
    help,
    places.map((place) => `${code(option ?? name)} of ${code(OBJECTS[place].passed)}`).join(', '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function valuesOf({ isSwitch, variable, kind: { choices, parse, isMeasured, range, unit } }) {
  if (isSwitch === true) return variable === null ? 'none' : 'none for the flag; on or off for the variable';
  if (choices !== undefined && parse !== undefined) return choices.join(' or ');
  return isMeasured === true ? `${range} (${unit})` : range;
}

function code(text) {
  return text === null || text === undefined ? '' : `\`${text}\``;
}
