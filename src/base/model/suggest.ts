/** A typo has at most this many edits, and at most half as many as the typed name has letters, rounded up. */
const EDITS_MAX = 3;
const TYPED_UNITS_MAX = 64;

/** The name most similar to the typed text, ignoring case; null if no name is similar. */
export function suggest(typed: string, names: readonly string[]): string | null {
  const wanted = typed.slice(0, TYPED_UNITS_MAX).toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.min(EDITS_MAX, Math.ceil(wanted.length / 2)) + 1;
  for (const name of names) {
    // The distance is at least the difference of the lengths.
    if (Math.abs(wanted.length - name.length) >= bestDistance) continue;
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Two swapped letters are one edit. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row++) {
    const [above, twoAbove] = [rows.at(-1) ?? [], rows.at(-2) ?? []];
    const here = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let least = Math.min(substitution, (above[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1);
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwapped) least = Math.min(least, (twoAbove[column - 2] ?? 0) + 1);
      here.push(least);
    }
    rows.push(here);
  }
  return rows.at(-1)?.[b.length] ?? 0;
}
