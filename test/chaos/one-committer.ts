import type { LocalFigures } from '../support/cluster/fleet-options.ts';

type Span = LocalFigures['spans'][number];

/**
 * Whether each partition had one committer at a time: leases of a partition, in order of their epochs, must not
 * overlap in time, and no epoch may belong to two nodes. Times are the store's, so no clock is compared with another.
 */
export function committersOf(seen: readonly Pick<LocalFigures, 'node' | 'spans'>[]): string[] {
  const byPartition = new Map<string, (Span & { readonly node: string })[]>();
  for (const { node, spans } of seen)
    for (const span of spans)
      byPartition.set(span.partition, [...(byPartition.get(span.partition) ?? []), { ...span, node }]);
  return [...byPartition.values()].flatMap((spans) => {
    const ordered = spans.sort((a, b) => a.epoch - b.epoch);
    return ordered.flatMap((later, index) => {
      const earlier = ordered[index - 1];
      if (earlier === undefined) return [];
      const who = `${later.partition}: ${earlier.node} epoch ${earlier.epoch}, ${later.node} epoch ${later.epoch}`;
      if (earlier.epoch === later.epoch && earlier.node !== later.node) return [`${who}: one epoch, two committers`];
      return earlier.to > later.from
        ? [`${who}: the earlier committed ${earlier.to - later.from} ms into the later`]
        : [];
    });
  });
}
