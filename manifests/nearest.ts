const MAX_LENGTH = 64;

const MAX_CANDIDATES = 1_000;

/** A candidate that differs by a typing error: one letter, or two in names of six letters and more. Swapped letters are one. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length < 3 || name.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let least = (name.length >= 6 ? 2 : 1) + 1;
  let seen = 0;
  for (const candidate of candidates) {
    seen += 1;
    if (seen > MAX_CANDIDATES) break;
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = edits(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** `; did you mean "JUDGE"?`, or nothing. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const meant = nearest(name, candidates);
  return meant === undefined || meant === name ? '' : `; did you mean ${JSON.stringify(meant)}?`;
}

/** Edit distance with swaps of neighbours (optimal string alignment), three rows at a time. */
function edits(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const kept = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(kept, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
