/** Room model/. What an event is: fields, times, identifiers, formats. It imports no other room. */

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
  readonly description: string;
  /** Records without it are rejected; otherwise absent and null both mean "unknown" and are served as null. */
  readonly required: boolean;
  /** Part of the Event record that clients see. */
  readonly output: boolean;
  /** Is a query parameter of GET /schedule. */
  readonly parameter: boolean;
  /** Token claims that select on this field in GET /schedule/personal. */
  readonly claims: readonly string[];
  /** Has a dictionary, a column and posting lists in the snapshot: fields that are parameters or have claims do. */
  readonly indexed: boolean;
}

const DEFAULTS = { required: false, output: true, parameter: false, claims: [] };

/**
 * The descriptor table: every field of an event is declared here once, in the order of the response. Everything else
 * iterates this table: normaliser, columns, posting lists, query parameters, claims, schemas.
 */
export const ROWS = [
  { name: 'id', kind: 'identifier', required: true, description: 'Identifier of the event' },
  { name: 'time', kind: 'instant', required: true, description: 'Start of the event (UTC, inclusive)' },
  { name: 'endTime', kind: 'instant', required: true, description: 'End of the event (UTC, exclusive)' },
  { name: 'title', kind: 'text', description: 'Title of the event' },
  { name: 'roomId', kind: 'identifier', parameter: true, description: 'Identifier of the room' },
  { name: 'courseId', kind: 'identifier', parameter: true, description: 'Identifier of the course' },
  {
    name: 'studyGroup',
    kind: 'text',
    parameter: true,
    claims: ['studyGroup', 'studyGroups'],
    description: 'Code of the study group',
  },
  { name: 'lecturer', kind: 'text', description: 'Display name of the lecturer' },
  {
    name: 'type',
    kind: 'text',
    parameter: true,
    description: 'Type of the event, one of GET /schedule/types',
  },
  {
    name: 'groupId',
    kind: 'identifier',
    claims: ['groupId', 'groupIds'],
    description: 'Identifier of the group',
  },
  {
    name: 'lecturerId',
    kind: 'identifier',
    output: false,
    parameter: true,
    claims: ['lecturerId'],
    description: 'Identifier of the lecturer; a filter only, never part of the output',
  },
] as const;

/** One row of the table. */
type Row = (typeof ROWS)[number];
type Named<Name extends string> = readonly (Field & { readonly name: Name })[];

/** Every field's name. */
export type FieldName = Row['name'];
/** The fields that no event is without. */
export type RequiredFieldName = Extract<Row, { required: true }>['name'];
/** The fields of the Event record. */
export type OutputFieldName = Exclude<FieldName, Extract<Row, { output: false }>['name']>;
/** The fields that are query parameters. */
export type ParameterFieldName = Extract<Row, { parameter: true }>['name'];
/** The fields that are query parameters or have claims. */
export type IndexedFieldName = ParameterFieldName | Extract<Row, { claims: readonly string[] }>['name'];

export const FIELDS: Named<FieldName> = ROWS.map((row) => {
  const field = { ...DEFAULTS, ...row };
  return { ...field, indexed: field.parameter || field.claims.length > 0 };
});
export const OUTPUT_FIELDS = FIELDS.filter((field) => field.output) as Named<OutputFieldName>;
export const PARAMETER_FIELDS = FIELDS.filter((field) => field.parameter) as Named<ParameterFieldName>;
export const INDEXED_FIELDS = FIELDS.filter((field) => field.indexed) as Named<IndexedFieldName>;

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
