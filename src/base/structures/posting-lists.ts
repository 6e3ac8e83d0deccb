import { shared } from './slabs.js';

/** The code of each ordinal, in the narrowest type. Numbers that are not codes mean null. */
export type CodeColumn = Uint8Array | Uint16Array | Uint32Array;

interface CodeColumnType {
  new (buffer: SharedArrayBuffer, byteOffset: number, length: number): CodeColumn;
  readonly BYTES_PER_ELEMENT: number;
}

/** The narrowest type for the codes and one further number, which means null. */
function codeColumnType(codeCount: number): CodeColumnType {
  if (codeCount < 2 ** 8) return Uint8Array;
  return codeCount < 2 ** 16 ? Uint16Array : Uint32Array;
}

export function sharedCodeColumn(length: number, codeCount: number): CodeColumn {
  const type = codeColumnType(codeCount);
  return new type(shared.cut(length * type.BYTES_PER_ELEMENT), shared.offset, length);
}

export function isCodeColumn(array: unknown, codeCount: number): array is CodeColumn {
  return array instanceof codeColumnType(codeCount);
}

/** List c is ordinals [start[c], start[c + 1]): ascending, without repeats. */
export interface PostingListsImage {
  readonly start: Uint32Array;
  readonly ordinals: Uint32Array;
}

export function buildPostingLists(codes: CodeColumn, codeCount: number): PostingListsImage {
  const start = shared.uint32(codeCount + 1);
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const code = codes[ordinal]!;
    if (code < codeCount) start[code + 1]!++;
  }
  for (let code = 0; code < codeCount; code++) start[code + 1]! += start[code]!;
  const next = start.slice(0, codeCount);
  const ordinals = shared.uint32(start[codeCount]!);
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const code = codes[ordinal]!;
    if (code < codeCount) ordinals[next[code]!++] = ordinal;
  }
  return { start, ordinals };
}
