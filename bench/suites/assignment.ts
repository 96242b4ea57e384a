import { assign, type Candidate } from '../../cluster/placement/assign.ts';
import { type Plan, type Section, table } from '../report.ts';

interface Shape {
  readonly partitions: number;
  readonly nodes: number;
  /** Weights 1, 2, 4 in turn, else 1 each. */
  readonly weighted: boolean;
}

const SHAPES: readonly Shape[] = [
  { partitions: 65_536, nodes: 1_000, weighted: false },
  { partitions: 65_536, nodes: 1_000, weighted: true },
  { partitions: 256, nodes: 5, weighted: false },
  { partitions: 256, nodes: 20, weighted: false },
];
/** Nodes that leave and join, one at a time; fleets of other names where there are fewer. */
const CHANGES = 40;

/** Assignment of partitions in a large fleet: its time, its balance, and how many partitions one node more or less moves. */
export async function assignment(plan: Plan): Promise<Section> {
  const rows = SHAPES.map((shape) => rowOf(shape, plan));
  return {
    title: 'Assignment of partitions to nodes (simulated fleets)',
    text: [
      table(
        [
          'partitions',
          'nodes',
          'weights',
          'ms, median',
          'low–high',
          'max load / share',
          'moved on a leave, % (ideal)',
          'moved on a join, % (ideal)',
        ],
        rows,
      ),
      `Ideal: the partitions of the node that leaves or joins, and no other. Mean of ${CHANGES} changes.`,
    ].join('\n\n'),
  };
}

function rowOf({ partitions, nodes, weighted }: Shape, plan: Plan): string[] {
  const layout = { pool: 'default', partitions };
  const fleet = (name: string): Candidate[] =>
    Array.from({ length: nodes }, (_, n) => ({ node: `${name}-${n}`, weight: weighted ? 2 ** (n % 3) : 1 }));
  const times: number[] = [];
  for (let round = 0; round < 3 * plan.repetitions; round += 1) {
    const members = fleet(`time-${round}`);
    const startedAt = performance.now();
    assign(layout, members);
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  let worst = 0;
  const leaves = { moved: 0, ideal: 0 };
  const joins = { moved: 0, ideal: 0 };
  for (let change = 0; change < CHANGES; change += 1) {
    // One large fleet with another node each time is as good a sample as several fleets.
    const members = fleet(nodes > 100 ? 'node' : `node-${change}`);
    const gone = members[(change * 37 + 11) % nodes];
    const joined = { node: `joined-${change}`, weight: weighted ? 2 ** (change % 3) : 1 };
    const before = assign(layout, members);
    worst = Math.max(worst, ...loadsOverShares(before, members));
    add(
      leaves,
      before,
      assign(
        layout,
        members.filter((member) => member !== gone),
      ),
      gone?.node ?? '',
    );
    add(joins, assign(layout, [...members, joined]), before, joined.node);
  }
  const share = ({ moved, ideal }: Moves): string =>
    [moved, ideal]
      .map((count) => ((100 * count) / (CHANGES * partitions)).toFixed(3))
      .join(' (')
      .concat(')');
  const ms = (at: number): string => (times[at] ?? 0).toFixed(nodes > 100 ? 0 : 2);
  return [
    `${partitions}`,
    `${nodes}`,
    weighted ? '1, 2, 4' : 'equal',
    ms(times.length >> 1),
    `${ms(0)}–${ms(times.length - 1)}`,
    worst.toFixed(3),
    share(leaves),
    share(joins),
  ];
}

interface Moves {
  moved: number;
  ideal: number;
}

/** Partitions with another holder, and those of the node that is in one of the two fleets only. */
function add(moves: Moves, withIt: readonly string[], without: readonly string[], node: string): void {
  for (const [at, holder] of withIt.entries()) {
    if (holder !== without[at]) moves.moved += 1;
    if (holder === node) moves.ideal += 1;
  }
}

function loadsOverShares(holders: readonly string[], members: readonly Candidate[]): number[] {
  const loads = new Map<string, number>();
  for (const holder of holders) loads.set(holder, (loads.get(holder) ?? 0) + 1);
  const total = members.reduce((sum, { weight }) => sum + weight, 0);
  return members.map(({ node, weight }) => ((loads.get(node) ?? 0) * total) / (holders.length * weight));
}
