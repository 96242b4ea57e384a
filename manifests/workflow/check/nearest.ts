const MAX_LENGTH = 64;
const MAX_CANDIDATES = 1_000;

/** The candidate a typing error away: one letter, or two in names of six letters and more. */
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

/** Levenshtein distance, one row at a time. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const kept = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(kept, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
