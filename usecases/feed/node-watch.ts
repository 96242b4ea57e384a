import type { Clock } from '../../runtime/clock.ts';
import { toSvcError } from '../../runtime/errors.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import type { ClusterApi, MemberStatus } from '../ports/cluster.ts';
import { orAborted } from './merged.ts';

/** A node of the fleet, as the feed shows it. */
export interface FeedNode {
  readonly node_id: string;
  /** `gone`: it holds no node lease any more. */
  readonly status: 'up' | 'draining' | 'gone';
  readonly incarnation: string;
  readonly role: string | null;
  readonly tags: readonly string[];
  readonly version: string | null;
  readonly partitions: Readonly<Record<string, number>>;
}

const LOOK_EVERY_MS = 2_000;

/** Reads the members of the fleet for all readers of this node, while there are any. */
export class NodeWatch {
  readonly #cluster: Pick<ClusterApi, 'status'>;
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  #nodes: ReadonlyMap<string, FeedNode> = new Map();
  #readers = 0;
  #stop = new AbortController();
  #changed = Promise.withResolvers<void>();

  constructor(parts: {
    readonly cluster: Pick<ClusterApi, 'status'>;
    readonly clock: Clock;
    readonly warn: (message: string, error: unknown) => void;
  }) {
    this.#cluster = parts.cluster;
    this.#clock = parts.clock;
    this.#warn = parts.warn;
  }

  /** All nodes at first, then each that changes. Ends with the signal. */
  async *follow(signal: AbortSignal): AsyncGenerator<FeedNode> {
    this.#readers += 1;
    if (this.#readers === 1) this.#begin();
    let seen: ReadonlyMap<string, FeedNode> = new Map();
    try {
      while (!signal.aborted) {
        const { promise } = this.#changed;
        const before = seen;
        seen = this.#nodes;
        for (const node of changesOf(before, seen)) yield node;
        if (this.#nodes === seen) await orAborted(promise, signal);
      }
    } finally {
      this.#readers -= 1;
      if (this.#readers === 0) this.#stop.abort();
    }
  }

  #begin(): void {
    this.#stop = new AbortController();
    this.#look(this.#stop.signal).catch((thrown: unknown) =>
      this.#warn('the feed no longer watches the nodes; readers reconnect', thrown),
    );
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { members } = await this.#cluster.status();
        const nodes = new Map(members.map((member) => [member.node_id, shown(member)]));
        if (changesOf(this.#nodes, nodes).length > 0) {
          this.#nodes = nodes;
          this.#changed.resolve();
          this.#changed = Promise.withResolvers<void>();
        }
      } catch (thrown) {
        this.#warn('the feed could not read the members of the fleet; it tries again', toSvcError(thrown));
      }
      await sleep(this.#clock, LOOK_EVERY_MS, signal);
    }
  }
}

const shown = ({ node_id, incarnation, info, partitions }: MemberStatus): FeedNode => ({
  node_id,
  status: info?.draining === true ? 'draining' : 'up',
  incarnation,
  role: info?.role ?? null,
  tags: info?.tags ?? [],
  version: info?.version ?? null,
  partitions,
});

function changesOf(before: ReadonlyMap<string, FeedNode>, now: ReadonlyMap<string, FeedNode>): FeedNode[] {
  const changed = [...now.values()].filter((node) => JSON.stringify(before.get(node.node_id)) !== JSON.stringify(node));
  const gone = [...before.values()].filter(({ node_id }) => !now.has(node_id));
  return [...changed, ...gone.map((node): FeedNode => ({ ...node, status: 'gone', partitions: {} }))];
}
