import type { Partition, SharedLog } from '../address.ts';
import { UNREADABLE } from '../turns/loading.ts';
import { keysIn, saysItsKeys } from './keys.ts';
import { deliveryOf, type RecordedCommit, type RecordedDelivery } from './recorded-delivery.ts';

/**
 * Commits for the thread that packs them. To send an object or a text for each delivery would cost as much as packing it,
 * so bodies and turns are one text each, a line for each delivery, and the thread finds in a body what it needs.
 */
export interface CarriedCommits {
  readonly bodies: string;
  readonly turns: string;
  /** For each delivery position, time and epoch, and the numbers of its log, partition and node. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly logs: readonly (SharedLog | null)[];
  readonly partitions: readonly Partition[];
  readonly nodes: readonly (string | null)[];
  /** By number of the delivery: those whose body does not say all. */
  readonly odd: ReadonlyMap<number, RecordedDelivery>;
}

const NUMBERS = 6;

export function carried(commits: readonly RecordedCommit[]): CarriedCommits {
  const [logs, partitions, nodes] = [new Names<SharedLog | null>(), new Names<Partition>(), new Names<string | null>()];
  const bodies: string[] = [];
  const turns: string[] = [];
  const odd = new Map<number, RecordedDelivery>();
  const most = commits.reduce((sum, { commit }) => sum + commit.entries.length, 0);
  const numbers = new Float64Array(most * NUMBERS);
  for (const { log, commit } of commits) {
    const [logNumber, nodeNumber] = [logs.numberOf(log), nodes.numberOf(commit.node)];
    for (let index = 0; index < commit.entries.length; index += 1) {
      const [entry, partition, row] = [commit.entries[index], commit.partitions[index], commit.rows[index]];
      if (entry === undefined || partition === undefined || row?.outcome === 'postponed') continue;
      const { seq, at, body } = entry;
      const first = bodies.length * NUMBERS;
      numbers[first] = seq;
      numbers[first + 1] = at;
      numbers[first + 2] = commit.epoch;
      numbers[first + 3] = logNumber;
      numbers[first + 4] = partitions.numberOf(partition);
      numbers[first + 5] = nodeNumber;
      const text = commit.rowTexts?.[index];
      const isPlain = text !== undefined && commit.targets[index] !== UNREADABLE && saysItsKeys(body, row);
      if (isPlain && !body.includes('\n')) {
        bodies.push(body);
        turns.push(text);
      } else {
        odd.set(bodies.length, deliveryOf(log, commit, index, partition, entry));
        bodies.push('');
        turns.push('');
      }
    }
  }
  return {
    bodies: bodies.join('\n'),
    turns: turns.join('\n'),
    numbers: numbers.subarray(0, bodies.length * NUMBERS),
    logs: logs.all,
    partitions: partitions.all,
    nodes: nodes.all,
    odd,
  };
}

/** The deliveries again, on the other thread. */
export function received(carried: CarriedCommits): RecordedDelivery[] {
  const { numbers, odd, logs, partitions, nodes } = carried;
  if (numbers.length === 0) return [];
  const turns = carried.turns.split('\n');
  return carried.bodies.split('\n').map((body, index): RecordedDelivery => {
    const known = odd.get(index);
    if (known !== undefined) return known;
    const first = index * NUMBERS;
    const number = (field: number): number => numbers[first + field] ?? 0;
    const partition = partitions[number(4)];
    if (partition === undefined) throw new RangeError('a delivery without its partition');
    return {
      log: logs[number(3)] ?? null,
      partition,
      node: nodes[number(5)] ?? null,
      epoch: number(2),
      seq: number(0),
      at: number(1),
      body,
      turn: turns[index] ?? 'null',
      isReadable: true,
      ...keysIn(body),
    };
  });
}

/** Numbers names in the order in which they come. */
class Names<Name> {
  readonly #numbers = new Map<Name, number>();

  numberOf(name: Name): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(name, number);
    return number;
  }

  get all(): Name[] {
    return [...this.#numbers.keys()];
  }
}
