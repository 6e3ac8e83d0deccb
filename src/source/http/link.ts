export interface Link {
  readonly target: string;
  readonly relations: readonly string[];
}

const TARGET = /[ \t,]*<([^>]*)>/y;
const PARAMETER =
  /[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^",; \t]*)))?)?/y;
const END = /[ \t]*(?:,|$)/y;

/**
 * Parses a Link field (RFC 8288 section 3). Null if a part of the field cannot be parsed, because that part could
 * name the next page.
 */
export function parseLinks(field: string): Link[] | null {
  const links: Link[] = [];
  let at = 0;
  while (!/^[ \t,]*$/.test(field.slice(at))) {
    TARGET.lastIndex = at;
    const target = TARGET.exec(field)?.[1];
    if (target === undefined) return null;
    at = TARGET.lastIndex;
    const parameters = new Map<string, string>();
    for (;;) {
      PARAMETER.lastIndex = at;
      const parameter = PARAMETER.exec(field);
      if (parameter === null) break;
      at = PARAMETER.lastIndex;
      const [, name, quoted, plain] = parameter;
      // The first parameter of each name counts (section 3.3).
      if (name === undefined || parameters.has(name.toLowerCase())) continue;
      parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '');
    }
    END.lastIndex = at;
    if (!END.test(field)) return null;
    at = END.lastIndex;
    // With an anchor the link concerns another resource (section 3.2).
    if (parameters.has('anchor')) continue;
    const rel = parameters.get('rel')?.toLowerCase();
    const relations = rel?.match(/[^ \t]+/g) ?? [];
    links.push({ target, relations });
  }
  return links;
}

const OF_PAGES: ReadonlySet<string> = new Set(['next', 'prev', 'previous', 'first', 'last']);

export function isPage(links: readonly Link[]): boolean {
  return links.some(({ relations }) => relations.some((relation) => OF_PAGES.has(relation)));
}

export function nextTarget(links: readonly Link[]): string | null {
  return links.find(({ relations }) => relations.includes('next'))?.target ?? null;
}
