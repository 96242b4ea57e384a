import { useQuery } from '@tanstack/react-query';
import { api, listRefreshMs } from '../../api/queries.ts';
import { useFilters } from '../../app/use-filters.ts';
import { SelectFilter } from '../../parts/filters.tsx';
import { counted, plainLine, shortNode } from '../../parts/format.ts';
import { ReadState } from '../../parts/notice.tsx';

type Partition = Awaited<ReturnType<typeof api.cluster.partitions>>['partitions'][number];

const LEVELS = 6;

/** Meaning of the colour, singular and plural. */
const WORDS: Readonly<Record<'actors' | 'waiting', readonly [one: string, many: string]>> = {
  actors: ['actor', 'actors'],
  waiting: ['waiting message', 'waiting messages'],
};

const loadOf = (partition: Partition, by: string): number =>
  by === 'waiting' ? partition.waiting_messages : partition.actors;

/** Every partition as a square, a row for each node: the more actors or waiting messages, the stronger its colour. */
export function HeatMap() {
  const [search, change] = useFilters();
  const by = search.heat === 'waiting' ? 'waiting' : 'actors';
  const read = useQuery({
    queryKey: ['partitions'],
    queryFn: () => api.cluster.partitions(),
    refetchInterval: listRefreshMs,
  });
  const partitions = read.data?.partitions ?? [];
  const most = Math.max(1, ...partitions.map((one) => loadOf(one, by)));
  return (
    <section aria-labelledby="heat-title">
      <h2 id="heat-title">Partitions</h2>
      <ReadState of={read} what="partitions" />
      <div className="filters">
        <SelectFilter
          label="Colour"
          value={by}
          options={[
            ['actors', 'actors'],
            ['waiting', 'waiting messages'],
          ]}
          change={(heat) => change({ heat: heat === 'waiting' ? heat : '' })}
        />
        <span className="quiet">a square a partition; the strongest has {counted(most, ...WORDS[by])}</span>
      </div>
      {rowsOf(partitions).map(([pool, rows]) => (
        <div key={pool} className="heat">
          <h3>{plainLine(pool)}</h3>
          {rows.map(([node, cells]) => (
            <HeatRow key={node} name={node} cells={cells} by={by} most={most} />
          ))}
        </div>
      ))}
    </section>
  );
}

interface HeatRowProps {
  readonly name: string;
  readonly cells: readonly Partition[];
  readonly by: keyof typeof WORDS;
  readonly most: number;
}

function HeatRow({ name, cells, by, most }: HeatRowProps) {
  const total = cells.reduce((sum, one) => sum + loadOf(one, by), 0);
  const says = `${counted(cells.length, 'partition', 'partitions')}, ${counted(total, ...WORDS[by])}`;
  return (
    <div className="heat-row">
      <span className="heat-node" title={name}>
        {shortNode(name)}
      </span>
      <span className="heat-cells" role="img" aria-label={`${name}: ${says}`}>
        {cells.map((one) => (
          <i
            key={one.partition}
            data-level={levelOf(loadOf(one, by), most)}
            title={`${one.partition}: ${counted(one.actors, ...WORDS.actors)}, ${counted(one.waiting_messages, ...WORDS.waiting)}`}
          />
        ))}
      </span>
      <span className="figures quiet">{says}</span>
    </div>
  );
}

/** 0 for none, then a logarithmic scale, so that a few busy partitions do not hide the others. */
function levelOf(load: number, most: number): number {
  if (load === 0) return 0;
  return Math.max(1, Math.ceil((Math.log1p(load) / Math.log1p(most)) * LEVELS));
}

/** Partitions by pool, then by node; unserved ones are last. */
function rowsOf(partitions: readonly Partition[]): [pool: string, [node: string, cells: Partition[]][]][] {
  const pools = new Map<string, Map<string, Partition[]>>();
  for (const one of partitions) {
    const nodes = pools.get(one.pool) ?? new Map<string, Partition[]>();
    pools.set(one.pool, nodes);
    const node = one.node ?? 'no node';
    nodes.set(node, [...(nodes.get(node) ?? []), one]);
  }
  const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => a.localeCompare(b);
  return [...pools].map(([pool, nodes]) => [pool, [...nodes].sort(byName)]);
}
