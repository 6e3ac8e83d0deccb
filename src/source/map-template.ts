/** A part of a template: plain text, or a column whose value is inserted. */
type TemplatePart = string | { readonly column: string };

/** The parts of a text such as `{date}T{start}`. A text without braces is one column. `{{` and `}}` stand for braces. */
export type MapTemplate = readonly TemplatePart[];

/** @returns a clause on the fault, such as "it names no column" */
export function parseTemplate(text: string): MapTemplate | string {
  if (text === '') return 'it names no column';
  if (!/[{}]/.test(text)) return [{ column: text }];
  const parts: TemplatePart[] = [];
  let plain = '';
  for (const [token, column] of text.matchAll(/\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+/g)) {
    if (column !== undefined) {
      if (column === '') return '{} names no column';
      if (plain !== '') parts.push(plain);
      plain = '';
      parts.push({ column });
    } else if (token === '{' || token === '}') {
      return `"${token}" has no partner: write {column}, or ${token}${token} for a brace`;
    } else plain += token === '{{' ? '{' : token === '}}' ? '}' : token;
  }
  if (plain !== '') parts.push(plain);
  if (parts.every((part) => typeof part === 'string')) return 'it names no column: write {column}';
  return parts;
}

export function columnsOf(template: MapTemplate): string[] {
  return template.flatMap((part) => (typeof part === 'string' ? [] : [part.column]));
}
