/** Room model/. What an event is: fields, times, identifiers, formats. It imports no other room. */

/**
 * The descriptor table: every field of an event is declared here once, and everything else (normaliser, columns,
 * posting lists, query parameters, claims, response schema, OpenAPI document) iterates this table.
 *
 * The order is the order of the response: the ten fields of the specification, then the source-only ones.
 */

/** How a field's values are read and compared. */
export type FieldKind =
  /** A lower-cased UUID, or with `identifiers: 'any'` a string of 1 to 64 characters compared exactly, or a whole number. */
  | 'identifier'
  /** RFC 3339 on input, `YYYY-MM-DDTHH:mm:ss.sssZ` on output, epoch milliseconds inside. */
  | 'instant'
  /** Unicode text, NFC-normalised, otherwise untouched. */
  | 'text';

/** One field of an event. */
export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  /** Records without it are rejected; otherwise absent and null both mean "unknown" and are served as null. */
  readonly required: boolean;
  /** Part of the Event record that clients see. */
  readonly output: boolean;
  /** Has a dictionary, a column and posting lists in the snapshot. */
  readonly indexed: boolean;
  /** Is a query parameter of GET /schedule. Implies `indexed`. */
  readonly parameter: boolean;
  /** Token claims that select on this field in GET /schedule/personal. Implies `indexed`. */
  readonly claims: readonly string[];
  readonly description: string;
}

export const FIELDS = [
  {
    name: 'id',
    kind: 'identifier',
    required: true,
    output: true,
    indexed: false,
    parameter: false,
    claims: [],
    description: 'Identifier of the event',
  },
  {
    name: 'time',
    kind: 'instant',
    required: true,
    output: true,
    indexed: false,
    parameter: false,
    claims: [],
    description: 'Start of the event (UTC, inclusive)',
  },
  {
    name: 'endTime',
    kind: 'instant',
    required: true,
    output: true,
    indexed: false,
    parameter: false,
    claims: [],
    description: 'End of the event (UTC, exclusive)',
  },
  {
    name: 'title',
    kind: 'text',
    required: false,
    output: true,
    indexed: false,
    parameter: false,
    claims: [],
    description: 'Title of the event',
  },
  {
    name: 'roomId',
    kind: 'identifier',
    required: false,
    output: true,
    indexed: true,
    parameter: true,
    claims: [],
    description: 'Identifier of the room',
  },
  {
    name: 'courseId',
    kind: 'identifier',
    required: false,
    output: true,
    indexed: true,
    parameter: true,
    claims: [],
    description: 'Identifier of the course',
  },
  {
    name: 'studyGroup',
    kind: 'text',
    required: false,
    output: true,
    indexed: true,
    parameter: true,
    claims: ['studyGroup', 'studyGroups'],
    description: 'Code of the study group',
  },
  {
    name: 'lecturer',
    kind: 'text',
    required: false,
    output: true,
    indexed: false,
    parameter: false,
    claims: [],
    description: 'Display name of the lecturer',
  },
  {
    name: 'type',
    kind: 'text',
    required: false,
    output: true,
    indexed: true,
    parameter: true,
    claims: [],
    description: 'Type of the event, one of GET /schedule/types',
  },
  {
    name: 'groupId',
    kind: 'identifier',
    required: false,
    output: true,
    indexed: true,
    parameter: false,
    claims: ['groupId', 'groupIds'],
    description: 'Identifier of the group',
  },
  {
    name: 'lecturerId',
    kind: 'identifier',
    required: false,
    output: false,
    indexed: true,
    parameter: true,
    claims: ['lecturerId'],
    description: 'Identifier of the lecturer; a filter only, never part of the output',
  },
] as const;

/** One row of the table. */
type FieldRow = (typeof FIELDS)[number];

/** Every field's name. */
export type FieldName = FieldRow['name'];
/** The fields of the Event record, in its order. */
export type OutputFieldName = Extract<FieldRow, { output: true }>['name'];
/** The fields that have a dictionary, a column and posting lists. */
export type IndexedFieldName = Extract<FieldRow, { indexed: true }>['name'];
/** The fields that are query parameters. */
export type ParameterFieldName = Extract<FieldRow, { parameter: true }>['name'];

export const OUTPUT_FIELDS: readonly (Field & { name: OutputFieldName })[] = FIELDS.filter((f) => f.output);
export const INDEXED_FIELDS: readonly (Field & { name: IndexedFieldName })[] = FIELDS.filter(
  (f) => f.indexed,
);
export const PARAMETER_FIELDS: readonly (Field & { name: ParameterFieldName })[] = FIELDS.filter(
  (f) => f.parameter,
);

/**
 * Rows equal in time, endTime and these fields are one lesson, told to several groups. The first must be known; of the
 * others, unknown equals unknown.
 */
export const LESSON_FIELDS = ['courseId', 'roomId', 'type'] as const;

/** What a conflict can be about, and the fields that give its key: the first that is not null. */
export const CONFLICT_DIMENSIONS = [
  { by: 'group', keys: ['groupId', 'studyGroup'] },
  { by: 'lecturer', keys: ['lecturerId', 'lecturer'] },
  { by: 'room', keys: ['roomId'] },
] as const;

/** `group`, `lecturer` or `room`; the table above is in their sort order. */
export type ConflictBy = (typeof CONFLICT_DIMENSIONS)[number]['by'];
