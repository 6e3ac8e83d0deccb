/** A typo has at most this many edits, and at most half the name. */
const EDITS_MAX = 3;
const TYPED_UNITS_MAX = 64;

/** The name nearest to the typed one, ignoring case; null when none is near. */
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

function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const here = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      here.push(Math.min(substitution, (above[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1));
    }
    above = here;
  }
  return above[b.length] ?? 0;
}
