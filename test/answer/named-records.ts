/** Real records with display names, of the `*.names.json` files beside the data sets. */
import { readFileSync } from 'node:fs';
import { type DataSet, recordsOf } from './real-sets.js';

type NamesByKind = Readonly<Record<'room' | 'course' | 'group', Readonly<Record<string, string>>>>;

/** The records of a data set with roomName, courseName and groupName. */
export function namedRecordsOf(dataSet: DataSet): Record<string, unknown>[] {
  const file = dataSet.path.replace(/\.ndjson\.gz$/, '.names.json');
  const names = JSON.parse(readFileSync(file, 'utf8')) as NamesByKind;
  const nameOf = (kind: keyof NamesByKind, id: unknown): string | null => names[kind][String(id)] ?? null;
  return recordsOf(dataSet).map((record) => ({
    ...record,
    roomName: nameOf('room', record.roomId),
    courseName: nameOf('course', record.courseId),
    groupName: nameOf('group', record.groupId),
  }));
}
