/** docs/configuration.md, from the table. */
import { type Place, type Setting, shownDefault, variableOf } from './setting.js';
import { SETTINGS } from './table.js';

/** How a program passes the options of each place. */
const PLACES: Readonly<Record<Place, string>> = {
  openTimetable: 'openTimetable({ … })',
  gate: 'openTimetable({ gate: { … } })',
  serve: 'serve({ … })',
  handler: 'handler({ … })',
  auth: '{ auth: { … } }',
  feed: '{ feed: { … } }',
  admin: 'serve({ admin: { … } })',
};

const HEAD = `# Configuration

This page is for people who look for a setting. It is generated from the table of settings in \`src/options/\` by
\`npm run docs\`.

\`lectern serve\` takes a setting as a flag or as an environment variable; the flag wins. A program gives a setting as an option
of the library, under the name in the last column. An empty cell means that the setting cannot be given this way. Values are
checked once, before anything is loaded, and a setting that would have no effect beside the others is refused. Secrets are
never given as flags, because the process list would show them. \`lectern serve --help\` prints the flags with
their variables.
`;

const TABLE_HEAD =
  '| flag | variable | value | default | what it does | in a program |\n|---|---|---|---|---|---|';

export function configurationPage(): string {
  const groups = [...new Set(SETTINGS.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const rows = SETTINGS.filter((setting) => setting.group === group).map(rowOf);
    return `## ${group}\n\n${TABLE_HEAD}\n${rows.join('\n')}\n`;
  });
  return [HEAD, ...sections].join('\n');
}

function rowOf(setting: Setting): string {
  const { name, option, places, short, flag, isEnvironmentOnly, kind, help } = setting;
  const flags = isEnvironmentOnly === true ? [] : [short, flag];
  const cells = [
    flags.filter(Boolean).map(code).join(', '),
    code(variableOf(setting)),
    kind.choices === undefined || kind.parse === undefined ? kind.range : kind.choices.join(' or '),
    setting.default === undefined ? '' : code(shownDefault(setting)),
    help,
    places.map((place) => `${code(option ?? name)} of ${code(PLACES[place])}`).join(', '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function code(text: string | null | undefined): string {
  return text === null || text === undefined ? '' : `\`${text}\``;
}
