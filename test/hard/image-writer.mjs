/**
 * Writes images of growing number to a path, one after the other, until it is killed.
 *
 *     node image-writer.mjs <built image-file module> <built builder module> <path> <events> <first number>
 *
 * Image n holds events that all have the title `version n`. Prints "ready" just before the first write.
 */
const [imageFile = '', builder = '', path = '', events = '', first = ''] = process.argv.slice(2);
const { writeImageFile } = await import(imageFile);
const { SnapshotBuilder } = await import(builder);

let isReady = false;
for (let version = Number(first); ; version++) {
  const snapshot = new SnapshotBuilder({ identifiers: 'uuid' });
  for (let n = 0; n < Number(events); n++) {
    snapshot.add(
      {
        id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        time: Date.UTC(2024, 8, 2, 8) + n * 60_000,
        endTime: Date.UTC(2024, 8, 2, 9) + n * 60_000,
        title: `version ${version}`,
        roomId: null,
        courseId: null,
        studyGroup: null,
        lecturer: null,
        type: null,
        groupId: null,
        lecturerId: null,
      },
      { record: n + 1 },
    );
  }
  const image = snapshot.finish();
  if (!isReady) process.stdout.write('ready\n');
  isReady = true;
  // Several writes to one build, because kills should hit the writing.
  const stored = { image, sequence: null, sourceVersion: String(version), source: null, beside: null };
  for (let again = 0; again < 25; again++) writeImageFile(path, stored);
}
