import type { LocalFigures } from '../support/cluster/fleet-options.ts';

type Span = LocalFigures['spans'][number];

/**
 * Whether each partition had one committer at a time: the commits of one process under one lease must not overlap in time with
 * those of another. Times are the store's, so no clocks are compared.
 */
export function committersOf(seen: readonly Pick<LocalFigures, 'node' | 'spans'>[]): string[] {
  const byPartition = new Map<string, (Span & { readonly node: string })[]>();
  for (const { node, spans } of seen)
    for (const span of spans)
      byPartition.set(span.partition, [...(byPartition.get(span.partition) ?? []), { ...span, node }]);
  return [...byPartition.values()].flatMap((spans) => {
    const ordered = spans.sort((a, b) => a.from - b.from || a.to - b.to);
    return ordered.flatMap((later, index) => {
      const earlier = ordered[index - 1];
      if (earlier === undefined) return [];
      const same = earlier.log === later.log && earlier.epoch === later.epoch;
      const who = `${later.partition}: ${earlier.node} epoch ${earlier.epoch}, ${later.node} epoch ${later.epoch}`;
      if (same && earlier.node !== later.node) return [`${who}: two nodes committed under one epoch`];
      return earlier.to > later.from
        ? [`${who}: the earlier lease committed ${earlier.to - later.from} ms after the first commit of the later`]
        : [];
    });
  });
}
