import { test } from 'tap';
import { checkMappedColumns } from '../../../src/source/postgres/described-rows.js';

function problemOf(columns: readonly string[], fieldMap: Readonly<Record<string, string>> = {}): string {
  try {
    checkMappedColumns(columns, { identifiers: 'uuid', fieldMap }, 'the table', true);
    return 'none';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test('the message on a missing column proposes only columns that give no other field', async (t) => {
  t.equal(problemOf(['id', 'time', 'endTime']), 'none');
  t.match(
    problemOf(['id', 'time', 'title']),
    /no column "endTime": name the column, as --map endTime=COLUMN\./,
  );
  t.match(problemOf(['id', 'time', 'end_time']), /--map endTime=end_time\./);
  // The column of time is another one, so this column is unused.
  t.match(problemOf(['id', 'begins', 'Time'], { time: 'begins' }), /--map endTime=Time\./);
  t.match(problemOf(['id', 'ends', 'endtimes'], { endTime: 'ends' }), /--map time=COLUMN\./);
  t.match(problemOf(['id', 'time', 'endTim'], { title: '{endTim}' }), /--map endTime=COLUMN\./);
  t.match(problemOf(['id', 'time', 'endTim'], { title: 'endTim.name' }), /--map endTime=COLUMN\./);
});
