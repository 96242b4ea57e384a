import { mkdtemp, open, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../../effects/volumes/tree.ts';
import { agentYaml, ProductNode } from '../../product/product-node.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { freshKey, keyIn } from './crowded-node.ts';
import type { RoundOutcome } from './fault-case.ts';
import { stillUnderWay, timeLeftMs } from './quiet.ts';
import { positionsIn, rewindsIn, type StoreLoss, takeovers } from './store-loss.ts';

/** Starts before the store stops persisting writes. */
export const RUNS_BEFORE = 24;
/** Starts that the store loses. */
export const RUNS_LOST = 12;
const ENDED = new Set(['completed', 'failed', 'cancelled']);

/** Pieces and pauses of a model's answer. */
const SPEEDS = { slow: { pieces: 100, delayMs: 50 }, steady: { pieces: 20, delayMs: 30 } } as const;

interface Started {
  readonly id: string;
  /** Part of its input, by which the model server recognises the run. */
  readonly key: string;
}

/** Runs on nodes whose Redis loses its last writes in a restart, and the conditions afterwards. */
export class LostWrites {
  readonly #nodes: readonly ProductNode[];
  readonly #models: ModelServer;
  /** Log files: during an outage a node logs more than a process object keeps. */
  readonly #logs: readonly string[];
  readonly #agent: string;

  /** Starts `count` nodes over the stores; `opened` stops them. */
  static async open(count: number, stores: object, opened: AsyncDisposableStack): Promise<LostWrites> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-lost-writes-'));
    opened.defer(() => removeTree(directory));
    const models = await startModelServer();
    opened.defer(() => models.stop());
    models.answer(({ body }) => {
      const { pieces, delayMs } = JSON.stringify(body).includes('slow') ? SPEEDS.slow : SPEEDS.steady;
      return { chunks: Array.from({ length: pieces }, () => 'word '), delayMs };
    });
    const provider = { name: 'fake', type: 'openai-compatible', endpoint: `${models.url}/v1` };
    const llm_providers = [{ ...provider, models: [{ alias: 'default', model: 'fake' }] }];
    const nodes: ProductNode[] = [];
    const logs: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const path = join(directory, `node-${at}.log`);
      const log = await open(path, 'a');
      opened.defer(() => log.close());
      const spec = { kernel: { partitions: 16 }, stores, llm_providers };
      const node = await ProductNode.start({ spec, stderr: log.fd });
      opened.use(node);
      nodes.push(node);
      logs.push(path);
    }
    const agent = (await nodes[0]?.deploy(agentYaml('talker'))) ?? '';
    return new LostWrites(nodes, models, logs, agent);
  }

  private constructor(nodes: readonly ProductNode[], models: ModelServer, logs: readonly string[], agent: string) {
    this.#nodes = nodes;
    this.#models = models;
    this.#logs = logs;
    this.#agent = agent;
  }

  start(count: number, random: () => number): Promise<Started[]> {
    return Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const node = this.#nodes[at % this.#nodes.length];
        const key = freshKey();
        const id = (await node?.run(this.#agent, `${random() < 0.5 ? 'slow' : 'steady'} ${key}`)) ?? '';
        return { id, key };
      }),
    );
  }

  /** Present lengths of the logs: `quietOutcome` reads the text after them. */
  async logLengths(): Promise<readonly number[]> {
    return (await this.#texts()).map(({ length }) => length);
  }

  #texts(): Promise<string[]> {
    return Promise.all(this.#logs.map((path) => readFile(path, 'utf8')));
  }

  /**
   * Only reads; sends no message to an actor. Of the late runs those may be gone, and of all runs those may have called
   * their model again, of which the store lost a write. A log line must report each takeover of a rewound partition.
   */
  async quietOutcome(
    url: string,
    { kept, late }: { readonly kept: readonly Started[]; readonly late: readonly Started[] },
    loss: StoreLoss,
    lengthsBefore: readonly number[],
  ): Promise<RoundOutcome> {
    const begun = performance.now();
    const runs = [...kept, ...late];
    let found: string[] = [];
    const look = async (): Promise<boolean> => {
      found = await Promise.all(runs.map(({ id }) => this.#statusOf(id)));
      return found.every((status) => ENDED.has(status) || status === 'gone');
    };
    await waitUntil('all runs end', look, timeLeftMs(begun)).catch(() => false);
    const over = runs.filter((_, at) => ENDED.has(found[at] ?? '') || found[at] === 'gone');
    const ended = over.map(({ id }) => id);
    const location = { dataDir: '', redis: [url] };
    const broken = await stillUnderWay(begun, {
      location,
      url: this.#nodes[0]?.url,
      ended,
      mostListed: 2 * runs.length,
    });
    const recoveryMs = performance.now() - begun;
    let taken = takeovers(loss, await positionsIn(url), []);
    // A node with little processor time logs it late.
    const isLogged = async (): Promise<boolean> => {
      const rewinds = (await this.#texts()).flatMap((text, at) => rewindsIn(text.slice(lengthsBefore[at])));
      taken = takeovers(loss, await positionsIn(url), rewinds);
      return taken.wrong.length === 0;
    };
    await waitUntil('the logs report the rewound partitions', isLogged, timeLeftMs(begun)).catch(() => false);
    const wasLost = ({ id }: Started): boolean => loss.ids.has(id);
    const gone = runs.filter((_, at) => found[at] === 'gone');
    const failed = runs.filter((_, at) => found[at] === 'failed' || found[at] === 'cancelled');
    const calls = Map.groupBy(this.#models.calls.map(keyIn), (key) => key);
    const repeats = ({ key }: Started): number => Math.max(0, (calls.get(key)?.length ?? 0) - 1);
    const sum = (some: readonly Started[]): number => some.reduce((all, one) => all + repeats(one), 0);
    const hung = runs.length - over.length + broken.length;
    return {
      runs: runs.length,
      hung,
      nodesEnded: this.#nodes.filter((node) => node.process.crashed).length,
      lost: [...gone, ...failed].filter((run) => kept.includes(run) || !wasLost(run)).length + taken.wrong.length,
      repeated: sum(runs.filter((run) => !wasLost(run))),
      recoveryMs: hung > 0 ? null : recoveryMs,
      ofStore: {
        ...{ gone: gone.length, again: sum(runs.filter(wasLost)) },
        ...{ takeovers: taken.count, behind: taken.behind, actors: taken.actors },
      },
      notes: [
        `the store lost writes of ${runs.filter(wasLost).length} runs; ${gone.length} of ${late.length} that were begun late are gone`,
        `${taken.count} takeovers, ${taken.behind} of rewound partitions, with ${taken.actors} actors`,
        ...[...taken.wrong, ...broken],
      ],
    };
  }

  /** A read that the fault interrupted is repeated. */
  async #statusOf(id: string): Promise<string> {
    const [node] = this.#nodes;
    const answer = await node?.call('GET', `/v1/executions/${id}`).catch(() => undefined);
    if (answer?.status === 404) return 'gone';
    return answer?.status === 200 ? String(answer.body.status) : 'unknown';
  }
}
