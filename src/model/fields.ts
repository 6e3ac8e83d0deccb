/** Room model/. What an event is: fields, times, identifiers, formats. It imports no other room. */

export type FieldKind =
  /** See IdentifierMode. */
  | 'identifier'
  /** RFC 3339 on input, `YYYY-MM-DDTHH:mm:ss.sssZ` on output, epoch milliseconds inside. */
  | 'instant'
  /** NFC-normalised Unicode. */
  | 'text';

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly description: string;
  /** Records without it are rejected. Other fields are served as null if they are absent. */
  readonly required: boolean;
  /** Clients see it in the Event record. */
  readonly output: boolean;
  /** It is a query parameter of GET /schedule. */
  readonly parameter: boolean;
  /** Token claims that select on this field in GET /schedule/personal. */
  readonly claims: readonly string[];
  /** Parameters and fields with claims have a dictionary, a column and posting lists in the snapshot. */
  readonly indexed: boolean;
}

const DEFAULTS = { required: false, output: true, parameter: false, claims: [] };

/** The descriptor table: declares each field once, in the order of answers. All other code iterates it. */
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

/** The name of a field. */
export type FieldName = Row['name'];
export type RequiredFieldName = Extract<Row, { required: true }>['name'];
export type OutputFieldName = Exclude<FieldName, Extract<Row, { output: false }>['name']>;
export type ParameterFieldName = Extract<Row, { parameter: true }>['name'];
export type IndexedFieldName = ParameterFieldName | Extract<Row, { claims: readonly string[] }>['name'];

/** A field of the table. */
export type KnownField = Field & { readonly name: FieldName };

export const FIELDS: Named<FieldName> = ROWS.map((row) => {
  const field = { ...DEFAULTS, ...row };
  return { ...field, indexed: field.parameter || field.claims.length > 0 };
});
export const OUTPUT_FIELDS = FIELDS.filter((field) => field.output) as Named<OutputFieldName>;
export const PARAMETER_FIELDS = FIELDS.filter((field) => field.parameter) as Named<ParameterFieldName>;
export const INDEXED_FIELDS = FIELDS.filter((field) => field.indexed) as Named<IndexedFieldName>;

/** Rows equal in time, endTime and these fields are one lesson. The first must be known; unknown others are equal. */
export const LESSON_FIELDS = ['courseId', 'roomId', 'type'] as const;

/** The kinds of conflict, in order. The first field that is not null is the key. */
export const CONFLICT_DIMENSIONS = [
  { by: 'group', keys: ['groupId', 'studyGroup'] },
  { by: 'lecturer', keys: ['lecturerId', 'lecturer'] },
  { by: 'room', keys: ['roomId'] },
] as const;

/** The kind of a conflict. */
export type ConflictBy = (typeof CONFLICT_DIMENSIONS)[number]['by'];
