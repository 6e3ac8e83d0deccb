/**
 * Folder base/model/. The definition of an event: fields, times, identifiers, formats. This folder imports no other
 * folder.
 */

export type FieldKind =
  /** See IdentifierMode. */
  | 'identifier'
  /** RFC 3339 on input, `YYYY-MM-DDTHH:mm:ss.sssZ` on output, and epoch milliseconds internally. */
  | 'instant'
  /** NFC-normalised Unicode. */
  | 'text';

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly description: string;
  /** Whether records without the field are rejected. If false, an absent field is served as null. */
  readonly required: boolean;
  /** Whether clients see the field in the Event record. */
  readonly output: boolean;
  /** Whether the field is a query parameter of GET /schedule. */
  readonly parameter: boolean;
  /** Token claims that select on this field in GET /schedule/personal. */
  readonly claims: readonly string[];
  /** Fields with display names of the field's values, the preferred one first; see {@link NAMED_FIELDS}. */
  readonly namedBy: readonly string[];
  /**
   * Whether the field has a dictionary, a column and posting lists in the snapshot, as identity fields and
   * keys of conflicts do.
   */
  readonly indexed: boolean;
}

const DEFAULTS = { required: false, output: true, parameter: false, claims: [], namedBy: [] };

/** The descriptor table: declares each field once, in the order of answers. All other code iterates over it. */
const DESCRIPTORS = [
  { name: 'id', kind: 'identifier', required: true, description: 'Identifier of the event' },
  { name: 'time', kind: 'instant', required: true, description: 'Start of the event (UTC, inclusive)' },
  { name: 'endTime', kind: 'instant', required: true, description: 'End of the event (UTC, exclusive)' },
  { name: 'title', kind: 'text', description: 'Title of the event' },
  {
    name: 'roomId',
    kind: 'identifier',
    parameter: true,
    namedBy: ['roomName'],
    description: 'Identifier of the room',
  },
  {
    name: 'courseId',
    kind: 'identifier',
    parameter: true,
    namedBy: ['courseName'],
    description: 'Identifier of the course',
  },
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
    namedBy: ['groupName', 'studyGroup'],
    description: 'Identifier of the group',
  },
  {
    name: 'lecturerId',
    kind: 'identifier',
    output: false,
    parameter: true,
    claims: ['lecturerId'],
    namedBy: ['lecturer'],
    description: 'Identifier of the lecturer; a filter only, never part of the output',
  },
  { name: 'roomName', kind: 'text', output: false, description: 'Display name of the room' },
  { name: 'courseName', kind: 'text', output: false, description: 'Display name of the course' },
  { name: 'groupName', kind: 'text', output: false, description: 'Display name of the group' },
  {
    name: 'lessonId',
    kind: 'text',
    output: false,
    description: 'Identifier of the lesson that the event is a part of',
  },
  {
    name: 'modified',
    kind: 'instant',
    output: false,
    description: 'Time of the last change, for calendars; never part of other output',
  },
] as const;

type Descriptor = (typeof DESCRIPTORS)[number];
type Named<Name extends string> = readonly (Field & { readonly name: Name })[];

export type FieldName = Descriptor['name'];
export type RequiredFieldName = Extract<Descriptor, { required: true }>['name'];
export type OutputFieldName = Exclude<FieldName, Extract<Descriptor, { output: false }>['name']>;
export type ParameterFieldName = Extract<Descriptor, { parameter: true }>['name'];
/** A field that claims and enrolments can select on. */
export type IdentityFieldName =
  | ParameterFieldName
  | Extract<Descriptor, { claims: readonly string[] }>['name'];
export type IndexedFieldName = IdentityFieldName | (typeof CONFLICT_DIMENSIONS)[number]['keys'][number];

/** "field is one of values". */
export interface FieldFilter {
  readonly field: IndexedFieldName;
  /** Canonical values in code point order without repeats, at least one. */
  readonly values: readonly string[];
}
/** A field that answers do not show and filters do not match: display names, and the lesson. */
export type DisplayNameField = Exclude<FieldName, OutputFieldName | IndexedFieldName | 'modified'>;
/** An optional field with a dictionary, but without an index. */
export type UnindexedFieldName = Exclude<FieldName, RequiredFieldName | IndexedFieldName | 'modified'>;
/** A field whose values have display names. */
export type NamedFieldName = Extract<Descriptor, { namedBy: readonly string[] }>['name'];

export type KnownField = Field & { readonly name: FieldName };

/** The kinds of conflict, in order. The first field that is not null gives the key. */
export const CONFLICT_DIMENSIONS = [
  { by: 'group', keys: ['groupId', 'studyGroup'] },
  { by: 'lecturer', keys: ['lecturerId', 'lecturer'] },
  { by: 'room', keys: ['roomId'] },
] as const;

export type ConflictBy = (typeof CONFLICT_DIMENSIONS)[number]['by'];

/** The directories. The first field gives the id of an entry; events without it use the second field, which is a name. */
export const DIRECTORIES = [
  { name: 'rooms', keys: ['roomId'] },
  { name: 'courses', keys: ['courseId'] },
  { name: 'groups', keys: ['groupId', 'studyGroup'] },
  { name: 'lecturers', keys: ['lecturerId', 'lecturer'] },
] as const;

export type DirectoryName = (typeof DIRECTORIES)[number]['name'];

export function isDirectory(name: unknown): name is DirectoryName {
  return DIRECTORIES.some((directory) => directory.name === name);
}

const KEYS: readonly string[] = CONFLICT_DIMENSIONS.flatMap(({ keys }) => keys);

function isIdentity({ parameter, claims }: Pick<Field, 'parameter' | 'claims'>): boolean {
  return parameter || claims.length > 0;
}

export const FIELDS: Named<FieldName> = DESCRIPTORS.map((descriptor) => {
  const field = { ...DEFAULTS, ...descriptor };
  return { ...field, indexed: isIdentity(field) || KEYS.includes(field.name) };
});
export const OUTPUT_FIELDS = FIELDS.filter((field) => field.output) as Named<OutputFieldName>;
/** The place of a field in the table, and in a row. */
export function slotOf(name: FieldName): number {
  return FIELDS.findIndex((field) => field.name === name);
}

export const PARAMETER_FIELDS = FIELDS.filter((field) => field.parameter) as Named<ParameterFieldName>;
/** Fields on which claims and enrolments can select. */
export const IDENTITY_FIELDS = FIELDS.filter(isIdentity) as Named<IdentityFieldName>;
export const INDEXED_FIELDS = FIELDS.filter((field) => field.indexed) as Named<IndexedFieldName>;
export const UNINDEXED_FIELDS = FIELDS.filter(
  (field) => !field.indexed && !field.required && field.kind !== 'instant',
) as Named<UnindexedFieldName>;
/**
 * A value is named by the first field of `namedBy` that any of its events has. The most frequent name wins;
 * among equally frequent names, the first by code point. Empty texts are not names.
 */
export const NAMED_FIELDS = FIELDS.filter((field) => field.namedBy.length > 0) as readonly (Field & {
  readonly name: NamedFieldName;
  readonly namedBy: readonly FieldName[];
})[];

/**
 * Rows with equal lessonId are one lesson. Of the other rows, those with equal time, endTime and these fields are one
 * lesson. The first of these fields must have a value; unknown values of the others count as equal.
 */
export const LESSON_FIELDS = ['courseId', 'roomId', 'type'] as const;
