/** docs/configuration.md, from the table. */
import { type Group, type Place, type Setting, variableOf } from './setting.js';
import { SETTINGS } from './table.js';

/** How a program gives the options of each place. */
const PLACES: Readonly<Record<Place, string>> = {
  openTimetable: 'openTimetable({ … })',
  gate: 'openTimetable({ gate: { … } })',
  serve: 'serve({ … })',
  handler: 'handler({ … })',
  auth: '{ auth: { … } }',
  admin: 'serve({ admin: { … } })',
};

const HEAD = `# Configuration

This page is generated from the table of settings in \`src/options/\` by \`npm run docs\`.

\`lectern serve\` takes every setting as a flag or as an environment variable; the flag wins. A program gives the same settings
as options of the library, under the name in the last column. Values are checked once, before anything is loaded, and a
setting that would have no effect beside the others is refused. Secrets are never given as flags, since the list of
processes would show them. \`lectern serve --help\` prints this list, too.
`;

const GROUPS: readonly Group[] = [
  'Listening',
  'Data',
  'Refreshing',
  'Tokens',
  'Users',
  'Operating',
  'Logging',
];

/** @returns Markdown */
export function configurationPage(table: readonly Setting[] = SETTINGS): string {
  const sections = GROUPS.map((group) => {
    const rows = table.filter((setting) => setting.group === group).map(rowOf);
    return `## ${group}\n\n| flag | variable | value | default | what it does | in a program |\n|---|---|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [HEAD, ...sections].join('\n');
}

function rowOf(setting: Setting): string {
  const { short, flag, isEnvironmentOnly, kind, help } = setting;
  const variable = variableOf(setting);
  const cells = [
    flag === null || isEnvironmentOnly === true
      ? ''
      : [short, flag].flatMap((each) => (each === undefined ? [] : [code(each)])).join(', '),
    variable === undefined ? '' : code(variable),
    kind.choices === undefined || kind.parse === undefined ? kind.range : kind.choices.join(' or '),
    setting.default === undefined ? '' : code(shownDefault(setting)),
    help,
    placesOf(setting),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function placesOf({ name, option, places }: Setting): string {
  return places.map((place) => `${code(option ?? name)} of ${code(PLACES[place])}`).join(', ');
}

/** The default as the command line has it. */
export function shownDefault({ default: usual, kind: { choices } }: Setting): string {
  return typeof usual === 'boolean' && choices !== undefined ? (choices[usual ? 0 : 1] ?? '') : String(usual);
}

function code(text: string): string {
  return `\`${text}\``;
}
