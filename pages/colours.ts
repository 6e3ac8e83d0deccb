/** One colour for each kind of lesson. */
import { signal } from '@preact/signals';
import { client, reading } from './data.js';

const COLOURS = 8;
/** All kinds, sorted; a kind keeps its colour from view to view. */
export const kinds = signal<readonly string[]>([]);

export async function readKinds(): Promise<void> {
  const { data } = await reading(() => client.get('/schedule/types'));
  kinds.value = data;
}

/** 1 to 8; 0 for a lesson without a kind. Kinds after the eighth share a colour, and tell their name. */
export function colourOf(kind: string): number {
  const place = kinds.value.indexOf(kind);
  return kind === '' || place === -1 ? 0 : (place % COLOURS) + 1;
}
