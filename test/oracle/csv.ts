/** The slow, obvious writer of CSV (RFC 4180). */
export interface Style {
  readonly delimiter: ',' | ';' | '\t';
  readonly lineEnd: '\n' | '\r\n' | '\r';
  readonly quotes: 'all' | 'needed';
  readonly begin: '' | '\ufeff' | 'sep';
  readonly endsWithLine: boolean;
}

export function writeCsv(rows: readonly (readonly string[])[], style: Style): string {
  const { delimiter, lineEnd, quotes } = style;
  const cell = (text: string): string => {
    const isNeeded = [delimiter, '"', '\r', '\n'].some((mark) => text.includes(mark));
    return quotes === 'all' || isNeeded ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map((row) => row.map(cell).join(delimiter));
  const first = style.begin === 'sep' ? `sep=${delimiter}${lineEnd}` : style.begin;
  return first + lines.join(lineEnd) + (style.endsWithLine ? lineEnd : '');
}

/** The first line of each row, from 1. */
export function linesOf(rows: readonly (readonly string[])[], style: Style): number[] {
  let line = style.begin === 'sep' ? 2 : 1;
  return rows.map((row) => {
    const begin = line;
    for (const cell of row) line += cell.split(/\r\n|\r|\n/).length - 1;
    line++;
    return begin;
  });
}
