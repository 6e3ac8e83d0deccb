/** The slow version of records with several values: reads one value at a time, and keeps what one place of a list gives. */

export interface Steps {
  readonly from: string;
  readonly split?: string;
  readonly each?: string;
  readonly values?: Readonly<Record<string, string | null>>;
  readonly otherwise?: 'keep' | 'null';
}

type Value = string | number | null;

/** Fields that vary together, because one has the names of the other. */
const TOGETHER: readonly (readonly string[])[] = [
  ['roomId', 'roomName'],
  ['studyGroup', 'groupId', 'groupName'],
  ['lecturer', 'lecturerId'],
];

/** The value at one place of the list that a record gives for a field; undefined behind its end. */
function valueAt(record: Readonly<Record<string, unknown>>, steps: Steps, place: number): Value | undefined {
  const whole = record[steps.from];
  if (whole === undefined || whole === null) return undefined;
  let at = -1;
  for (const element of Array.isArray(whole) ? whole : [whole]) {
    const found = steps.each === undefined ? element : (element?.[steps.each] ?? null);
    const parts = typeof found === 'string' && steps.split !== undefined ? found.split(steps.split) : [found];
    for (const part of parts) {
      at++;
      if (at !== place) continue;
      const text = typeof part === 'string' ? part.trim() : part;
      if (text === null || text === '' || text === '-' || text === '--') return null;
      const named = steps.values?.[String(text)];
      if (named !== undefined) return named;
      return steps.values !== undefined && steps.otherwise === 'null' ? null : text;
    }
  }
  return undefined;
}

/** How many places the list of a field has. */
function placesOf(record: Readonly<Record<string, unknown>>, steps: Steps): number {
  let count = 0;
  while (valueAt(record, steps, count) !== undefined) count++;
  return count;
}

/** The values of the fields in each row of a record; null if the lists of a family have different lengths. */
export function rowsOf(
  record: Readonly<Record<string, unknown>>,
  map: Readonly<Record<string, Steps>>,
): Record<string, Value>[] | null {
  let rows: Record<string, Value>[] = [{}];
  const families = [
    ...TOGETHER,
    ...Object.keys(map)
      .filter((field) => !TOGETHER.flat().includes(field))
      .map((field) => [field]),
  ];
  for (const family of families) {
    const fields = family.filter((field) => map[field] !== undefined);
    if (fields.length === 0) continue;
    const lengths = fields.map((field) => placesOf(record, map[field] as Steps));
    const length = Math.max(...lengths);
    if (lengths.some((each) => each > 1 && each < length)) return null;
    const items: Record<string, Value>[] = [];
    for (let place = 0; place < length; place++) {
      const item: Record<string, Value> = {};
      for (const [n, field] of fields.entries())
        item[field] = valueAt(record, map[field] as Steps, lengths[n] === 1 ? 0 : place) ?? null;
      const isNew = items.every((other) =>
        fields.some((field) => String(other[field]) !== String(item[field])),
      );
      if (isNew && fields.some((field) => item[field] !== null)) items.push(item);
    }
    if (items.length === 0) items.push(Object.fromEntries(fields.map((field) => [field, null])));
    rows = rows.flatMap((row) => items.map((item) => ({ ...row, ...item })));
  }
  return rows;
}
