/** Small snapshot images, built as the service builds them. */
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { randomHashSeed } from '../../src/base/structures/keyed-hash.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import type { StoredImage } from '../../src/snapshot/image-layout.js';

const FIRST_MS = Date.UTC(2024, 8, 2, 8);
const HOUR_MS = 3_600_000;

export function idOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

/** Event n: one hour long, 24 a day, four rooms; every eleventh overlaps the next. */
export function eventOf(n: number, more: Partial<NormalisedEvent> = {}): NormalisedEvent {
  const time = FIRST_MS + Math.floor(n / 4) * HOUR_MS;
  return {
    id: idOf(n),
    time,
    endTime: time + (n % 11 === 0 ? 2 : 1) * HOUR_MS,
    title: `Lesson ${n}`,
    roomId: `2c3c9bfd-5da4-5a45-8bdb-00000000000${n % 4}`,
    courseId: null,
    studyGroup: n % 2 === 0 ? 'A' : 'B',
    lecturer: 'Zoë Übermut',
    type: n % 3 === 0 ? 'Lab' : 'Lecture',
    groupId: null,
    lecturerId: null,
    ...more,
  };
}

/**
 * @param rejected records to count as left out
 * @param hashSeed random if left out
 */
export function imageOf(
  events: Iterable<NormalisedEvent>,
  rejected = 0,
  hashSeed: SnapshotImage['hashSeed'] = randomHashSeed(),
): SnapshotImage {
  const builder = new SnapshotBuilder({ identifiers: 'uuid', hashSeed });
  let record = 0;
  for (const event of events) builder.add(event, { record: ++record });
  for (let n = 0; n < rejected; n++) {
    builder.reject({
      code: 'missing-field',
      position: { record: ++record },
      field: 'id',
      detail: 'it has no id',
    });
  }
  return builder.finish();
}

/** Events 0 to count - 1. */
export function imageOfCount(
  count: number,
  more: Partial<NormalisedEvent> = {},
  rejected = 0,
): SnapshotImage {
  return imageOf(
    Array.from({ length: count }, (_, n) => eventOf(n, more)),
    rejected,
  );
}

/** An image as in a file. */
export function stored(image: SnapshotImage, more: Partial<StoredImage> = {}): StoredImage {
  return { image, sequence: null, sourceVersion: null, source: null, beside: null, ...more };
}
