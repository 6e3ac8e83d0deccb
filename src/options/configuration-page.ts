/** docs/configuration.md, from the table. */
import { type Place, type Setting, shownDefault, variableOf } from './setting.js';
import { SETTINGS } from './table.js';

/** How a program passes the options of each place. */
const PLACES: Readonly<Record<Place, string>> = {
  openTimetable: 'openTimetable({ … })',
  gate: 'openTimetable({ gate: { … } })',
  serve: 'serve({ … })',
  handler: 'handler({ … })',
  publish: 'publishTimetable(…, { … })',
  auth: '{ auth: { … } }',
  feed: '{ feed: { … } }',
  admin: 'serve({ admin: { … } })',
};

const HEAD = `# Configuration

This page is for people who look for a setting. \`npm run docs\` generates the page from the table of settings in
\`src/options/\`.

\`lectern serve\` and \`lectern publish\` take a setting as a flag or as an environment variable; the flag wins. The third
column names the commands that have the setting. A program gives a setting as an option of the library, under the name in
the last column. An empty cell means that the setting cannot be given in this way. Values are checked once, before anything
is loaded. A setting that has no effect with the other settings is refused. Secrets are never flags, because the process
list would show them. \`lectern serve --help\` and \`lectern publish --help\` print the flags with their variables.
`;

const TABLE_HEAD =
  '| flag | variable | commands | value | default | what it does | in a program |\n|---|---|---|---|---|---|---|';

export function configurationPage(): string {
  const groups = [...new Set(SETTINGS.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const rows = SETTINGS.filter((setting) => setting.group === group).map(rowOf);
    return `## ${group}\n\n${TABLE_HEAD}\n${rows.join('\n')}\n`;
  });
  return [HEAD, ...sections].join('\n');
}

function rowOf(setting: Setting): string {
  const { name, option, places, commands, short, flag, isEnvironmentOnly, help } = setting;
  const flags = isEnvironmentOnly === true ? [] : [short, flag];
  const cells = [
    flags.filter(Boolean).map(code).join(', '),
    code(variableOf(setting)),
    flag === null ? '' : commands.join(', '),
    valuesOf(setting),
    setting.default === undefined ? '' : code(shownDefault(setting)),
    help,
    places.map((place) => `${code(option ?? name)} of ${code(PLACES[place])}`).join(', '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function valuesOf({
  isSwitch,
  variable,
  kind: { choices, parse, isMeasured, range, unit },
}: Setting): string {
  if (isSwitch === true) return variable === null ? 'none' : 'none for the flag; on or off for the variable';
  if (choices !== undefined && parse !== undefined) return choices.join(' or ');
  return isMeasured === true ? `${range} (${unit})` : range;
}

function code(text: string | null | undefined): string {
  return text === null || text === undefined ? '' : `\`${text}\``;
}
