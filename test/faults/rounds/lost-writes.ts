import { mkdtemp, open, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../../effects/volumes/tree.ts';
import { partitionsOf } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { agentYaml, ProductNode } from '../../product/product-node.ts';
import { LIVENESS_MS } from '../../support/liveness.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { RoundOutcome } from './fault-case.ts';

/** Starts before the store stops keeping what it is told. */
export const RUNS_BEFORE = 24;
/** Starts that the store loses. */
export const RUNS_LOST = 12;
const ENDED = new Set(['completed', 'failed', 'cancelled']);

/** Runs on nodes whose Redis comes back without its last writes, and what must be true once it is back. */
export class LostWrites {
  readonly #nodes: readonly ProductNode[];
  /** Files: what a node says while its store is away is more than a process keeps of it. */
  readonly #logs: readonly string[];
  readonly #agent: string;

  /** Starts so many nodes over the stores; `opened` ends them. */
  static async open(count: number, stores: object, opened: AsyncDisposableStack): Promise<LostWrites> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-lost-writes-'));
    opened.defer(() => removeTree(directory));
    const nodes: ProductNode[] = [];
    const logs: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const path = join(directory, `node-${at}.log`);
      const log = await open(path, 'a');
      opened.defer(() => log.close());
      const node = await ProductNode.start({ spec: { kernel: { partitions: 16 }, stores }, stderr: log.fd });
      opened.use(node);
      nodes.push(node);
      logs.push(path);
    }
    const agent = (await nodes[0]?.deploy(agentYaml('talker'))) ?? '';
    return new LostWrites(nodes, logs, agent);
  }

  private constructor(nodes: readonly ProductNode[], logs: readonly string[], agent: string) {
    this.#nodes = nodes;
    this.#logs = logs;
    this.#agent = agent;
  }

  start(count: number, random: () => number): Promise<string[]> {
    return Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const node = this.#nodes[at % this.#nodes.length];
        return (await node?.run(this.#agent, random() < 0.5 ? 'slow' : 'steady')) ?? '';
      }),
    );
  }

  /** Takeovers so far that the logs told with how many actors went back. */
  async told(): Promise<number> {
    const texts = await Promise.all(this.#logs.map((path) => readFile(path, 'utf8')));
    return texts.flatMap((text) => text.match(/\d+ actors went back/g) ?? []).length;
  }

  /**
   * Only looks, nothing is asked of any actor. Of the runs that were begun late those may be gone; a store that lost some
   * was told of in the logs.
   */
  async silence(
    url: string,
    kept: readonly string[],
    late: readonly string[],
    toldBefore: number,
  ): Promise<RoundOutcome> {
    const begun = performance.now();
    const ids = [...kept, ...late];
    const store = new RedisActorStore({ urls: url });
    await store.open();
    let running: string[] = [];
    let unread: string[] = [];
    let gone: string[] = [];
    const look = async (): Promise<boolean> => {
      const found = await Promise.all(ids.map((id) => this.#statusOf(id)));
      running = ids.filter((_, at) => !ENDED.has(found[at] ?? '') && found[at] !== 'gone');
      gone = ids.filter((_, at) => found[at] === 'gone');
      const partitions = (await store.pools()).flatMap((pool) => partitionsOf(pool));
      const backlogs = await Promise.all(partitions.map((partition) => store.backlog(partition)));
      unread = partitions.filter((_, at) => (backlogs[at]?.tail ?? 0) > (backlogs[at]?.cursor ?? 0));
      return running.length === 0 && unread.length === 0;
    };
    const quiet = await waitUntil('all is quiet', look, LIVENESS_MS).catch(() => false);
    const recoveryMs = performance.now() - begun;
    await store.close();
    const takeovers = (await this.told()) - toldBefore;
    const untold = gone.length > 0 && takeovers === 0;
    return {
      runs: ids.length,
      hung: running.length + unread.length,
      nodesEnded: this.#nodes.filter((node) => node.process.crashed).length,
      lost: gone.filter((id) => kept.includes(id)).length + (untold ? 1 : 0),
      repeated: 0,
      recoveryMs: quiet === false ? null : recoveryMs,
      notes: [
        `the store lost ${gone.length} of ${late.length} runs that were begun late`,
        `${takeovers} takeovers were logged with how many actors went back`,
        ...unread.map((partition) => `${partition} is not read to its tail`),
      ],
    };
  }

  /** A look that the fault cut is repeated. */
  async #statusOf(id: string): Promise<string> {
    const [node] = this.#nodes;
    const answer = await node?.call('GET', `/v1/executions/${id}`).catch(() => undefined);
    if (answer?.status === 404) return 'gone';
    return answer?.status === 200 ? String(answer.body.status) : 'unknown';
  }
}
