/**
 * What is made from the table of the timetable file: its types, its JSON Schema, and the tables of
 * docs/timetable-file.md. Callers give the table, because scripts import it from src/ or from the build.
 */

/** All shapes with entries of their own, the outer ones first. */
function objectsOf(shape, found = new Map()) {
  if (shape.is === 'entries' && !found.has(shape.type)) {
    found.set(shape.type, shape);
    for (const entry of shape.entries) objectsOf(entry.shape, found);
  }
  if (shape.is === 'list' || shape.is === 'map') objectsOf(shape.of, found);
  if (shape.is === 'either') for (const each of shape.shapes) objectsOf(each, found);
  return found;
}

const sentence = ({ help, default: usual }) =>
  `${help[0].toUpperCase()}${help.slice(1)}.${usual === undefined ? '' : ` Default: ${usual}.`}`;

const WORDS = {
  TimetableDescription: 'What a timetable file says, as an object.',
  SourceDescription: 'One source of a timetable file.',
  RoomsDescription: 'The rooms of a timetable file.',
  SourceAuth: 'How a source of a timetable file gets tokens: client credentials (RFC 6749 section 4.4).',
};

const LINE_MAX = 108;

/** @returns {string} the interfaces for programs, but for those of src/base/model/ */
export function timetableTypes(shape) {
  return [...objectsOf(shape)]
    .filter(([type]) => Object.hasOwn(WORDS, type))
    .map(([type, { entries }]) => {
      const members = entries.map((entry) => {
        const member = typeOf(entry.shape);
        const line = `readonly ${entry.name}${entry.isRequired ? `: ${member}` : `?: ${member} | undefined`};`;
        // As Biome breaks long lines.
        const broken = `readonly ${entry.name}?:\n    | ${member}\n    | undefined;`;
        return `  /** ${sentence(entry)} */\n  ${line.length > LINE_MAX ? broken : line}`;
      });
      return `/** ${WORDS[type]} */\nexport interface ${type} {\n${members.join('\n')}\n}\n`;
    })
    .join('\n');
}

function typeOf(shape) {
  switch (shape.is) {
    case 'value':
      return shape.kind.type;
    case 'entries':
      return shape.type;
    case 'list':
      return `readonly ${typeOf(shape.of)}[]`;
    case 'map': {
      const others = Object.values(shape.others ?? {});
      const values = [shape.of, ...others.slice(0, 1)].map(typeOf);
      return `Readonly<Record<string, ${values.join(' | ')}>>`;
    }
    case 'either':
      return [...new Set(shape.shapes.map(typeOf))].join(' | ');
  }
}

/** @returns {object} the JSON Schema, draft 2020-12 */
export function timetableSchema(shape) {
  const { $defs, ...rest } = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A timetable file of Lectern',
    ...schemaOf(shape, true),
    $defs: Object.fromEntries(
      [...objectsOf(shape)].slice(1).map(([type, each]) => [type, schemaOf(each, true)]),
    ),
  };
  return { ...rest, $defs };
}

function schemaOf(shape, isDefinition = false) {
  switch (shape.is) {
    case 'value':
      return valueSchema(shape.kind);
    case 'list':
      return { type: 'array', items: schemaOf(shape.of) };
    case 'map': {
      const { of, keys, others = {} } = shape;
      if (keys === undefined) return { type: 'object', additionalProperties: schemaOf(of) };
      const properties = [
        ...keys.map((key) => [key, schemaOf(of)]),
        ...Object.entries(others).map(([key, each]) => [key, schemaOf(each)]),
      ];
      return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false };
    }
    case 'entries': {
      if (!isDefinition) return { $ref: `#/$defs/${shape.type}` };
      const required = shape.entries.filter(({ isRequired }) => isRequired).map(({ name }) => name);
      return {
        type: 'object',
        properties: Object.fromEntries(
          shape.entries.map((entry) => [
            entry.name,
            { description: sentence(entry), ...schemaOf(entry.shape) },
          ]),
        ),
        ...(required.length > 0 && { required }),
        additionalProperties: false,
      };
    }
    case 'either':
      return { anyOf: shape.shapes.map((each) => schemaOf(each)) };
  }
}

function valueSchema({ type, choices }) {
  if (type === 'boolean' || type === 'null') return { type };
  if (choices !== undefined) return { enum: [...choices] };
  // A number stands for the text as it is written.
  return type === 'number' ? { type } : { type: ['string', 'number'] };
}

const TITLES = {
  TimetableDescription: 'The file',
  SourceDescription: 'A source',
  FieldValue: 'A value of `fields`',
  WeeklyPattern: '`when`',
  Term: 'A term of `terms`',
  SourceAuth: '`auth`',
  RoomsDescription: '`rooms`',
};

/** @returns {string} the tables of docs/timetable-file.md */
export function timetableTables(shape, rangeOf) {
  const kinds = { http: ' (addresses)', postgres: ' (PostgreSQL)' };
  return [...objectsOf(shape)]
    .map(([type, { entries }]) => {
      const rows = entries.map((entry) => {
        const { name, of, isRequired, help, default: usual } = entry;
        const cells = [
          `\`${name}\`${isRequired ? ', required' : ''}${kinds[of] ?? ''}`,
          rangeOf(entry.shape),
          usual ?? '',
          help,
        ];
        return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
      });
      return `### ${TITLES[type]}\n\n| entry | value | default | what it does |\n|---|---|---|---|\n${rows.join('\n')}\n`;
    })
    .join('\n');
}

const BEGIN = '<!-- made from the table of entries by npm run docs -->\n';
const END = '<!-- the end of what is made -->\n';

/** The page with its tables made anew. */
export function timetablePage(page, tables) {
  const [before, rest] = page.split(BEGIN);
  return `${before}${BEGIN}\n${tables}\n${END}${rest.split(END)[1]}`;
}
