/** A publication as clients name it: `<sequence>.<snapshot id>`. */
export interface TimetableVersion {
  /** Grows with each publication. */
  readonly sequence: number;
  /** Id of the snapshot's content. */
  readonly snapshotId: string;
}

const VERSION = /^([1-9]\d{0,15})\.([\w-]{22})$/;

export function formatVersion({ sequence, snapshotId }: TimetableVersion): string {
  return `${sequence}.${snapshotId}`;
}

/** Null for any other text. */
export function parseVersion(text: string): TimetableVersion | null {
  const [, sequence, snapshotId] = VERSION.exec(text) ?? [];
  if (snapshotId === undefined || !Number.isSafeInteger(Number(sequence))) return null;
  return { sequence: Number(sequence), snapshotId };
}
