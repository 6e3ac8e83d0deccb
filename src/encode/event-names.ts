import type { Snapshot } from '../snapshot/snapshot.js';

/** The display name of an event's room or course, by ordinal; null if unknown. */
export type NameAt = (ordinal: number) => string | null;

export function namesAt(snapshot: Snapshot, field: 'roomId' | 'courseId'): NameAt {
  const { codes, dictionary } = snapshot.field(field);
  const known: (string | null | undefined)[] = [];
  return (ordinal) => {
    const code = codes[ordinal]!;
    if (code >= dictionary.size) return null;
    let name = known[code];
    if (name === undefined) {
      name = snapshot.nameOf(field, code);
      known[code] = name;
    }
    return name;
  };
}
