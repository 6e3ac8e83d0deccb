/** Follows a table, and prints for each publication its id and the number of pairs of rows that disagree. */
const [, , index, url] = process.argv;
const { openTimetable } = await import(index);

const timetable = openTimetable({
  source: { kind: 'postgres', url, table: 'events', follow: true },
  gate: false,
  refreshSeconds: 5,
});
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

timetable.on('error', ({ message }) => tell({ error: message }));
timetable.on('published', ({ summary }) => {
  // A transaction gives both rows of a pair the same lecturer.
  const pairs = new Map();
  let torn = 0;
  for (const { title, lecturer } of timetable.find().events) {
    const pair = /^pair \d+$/.exec(title ?? '')?.[0];
    if (pair === undefined) continue;
    const other = pairs.get(pair);
    if (other !== undefined && other !== lecturer) torn++;
    pairs.set(pair, lecturer);
  }
  tell({ id: summary.id, torn });
});
setInterval(() => {}, 1000);
