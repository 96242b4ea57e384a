import type { ActorStore } from '../runtime/actor-store.ts';
import type { Partition } from '../runtime/address.ts';
import type { Clock } from '../runtime/clock.ts';
import { toSvcError } from '../runtime/errors.ts';
import { repeat } from '../runtime/kit/waits.ts';
import { meteredDocuments, timed } from '../runtime/meter.ts';
import type { OpenStores } from '../runtime/open-stores.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { LookedUp, NodeMetrics } from '../transport/internal/node-metrics.ts';
import type { RunsApi } from '../usecases/runs/list-runs.ts';
import { UNFINISHED_STATUSES } from '../usecases/runs/run.ts';
import type { Areas } from './areas.ts';
import type { NodeContext } from './node-context.ts';

const LOOK_EVERY_MS = 10_000;
/** Most unfinished runs that are counted. */
const MOST_COUNTED = 10_000;
const PAGE = 1_000;
/** The node that holds this partition counts what belongs to the whole fleet. */
const COUNTING: Partition = 'system:0';

/** The stores with their calls timed, unless the settings turn metrics off. */
export function timedStores(stores: OpenStores, metrics: NodeMetrics | null): OpenStores {
  if (metrics === null) return stores;
  return {
    ...stores,
    store: timed(stores.store, metrics.storeCalls('actors')),
    documents: meteredDocuments(stores.documents, metrics.storeCalls('documents')),
    close: () => stores.close(),
  };
}

interface FiguresParts {
  readonly metrics: NodeMetrics;
  readonly store: Pick<ActorStore, 'backlog' | 'now'>;
  readonly runtime: Pick<Runtime, 'logs' | 'held'>;
  readonly runs: Pick<RunsApi, 'list'>;
  readonly tenants: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

/** Figures that need a store. They are looked up at an interval, so that a scrape never waits for a store. */
export class BackgroundFigures {
  readonly #parts: FiguresParts;
  #last: LookedUp = { mailbox: { messages: 0, oldestSeconds: 0 }, unfinished: null };
  readonly #end: () => Promise<void>;
  #failed = false;

  constructor(parts: FiguresParts) {
    this.#parts = parts;
    this.#end = repeat(parts.clock, LOOK_EVERY_MS, () => this.#lookAgain());
  }

  get metrics(): NodeMetrics {
    return this.#parts.metrics;
  }

  get last(): LookedUp {
    return this.#last;
  }

  close(): void {
    void this.#end();
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.#look();
      this.#failed = false;
    } catch (thrown) {
      const text = 'the figures for /metrics could not be read from the store; they are tried again';
      if (!this.#failed) this.#parts.warn(text, toSvcError(thrown));
      this.#failed = true;
    }
  }

  async #look(): Promise<void> {
    const { runtime } = this.#parts;
    const mailbox = await this.#mailbox();
    const unfinished = runtime.held().includes(COUNTING) ? await this.#unfinished() : null;
    this.#last = { mailbox, unfinished };
  }

  async #mailbox(): Promise<LookedUp['mailbox']> {
    const { store, runtime } = this.#parts;
    const backlogs = await Promise.all(runtime.logs().map((log) => store.backlog(log)));
    const messages = backlogs.reduce((sum, { tail, cursor }) => sum + Math.max(0, tail - cursor), 0);
    const oldest = backlogs.flatMap(({ oldestAt }) => (oldestAt === null ? [] : [oldestAt]));
    const oldestSeconds = oldest.length === 0 ? 0 : Math.max(0, (await store.now()) - Math.min(...oldest)) / 1_000;
    return { messages, oldestSeconds };
  }

  /** Unfinished runs of all tenants, by kind and by what they wait for. */
  async #unfinished(): Promise<LookedUp['unfinished']> {
    const counts = new Map<string, { readonly kind: string; readonly wait_reason: string; count: number }>();
    let left = MOST_COUNTED;
    for (const tenant of await this.#parts.tenants()) {
      for (let next: string | undefined, more = true; more && left > 0; more = next !== undefined) {
        const page = await this.#parts.runs.list(tenant, { status: UNFINISHED_STATUSES }, { limit: PAGE, next });
        for (const { kind, wait_reason } of page.runs) {
          const key = `${kind} ${wait_reason}`;
          const known = counts.get(key) ?? { kind, wait_reason: wait_reason ?? 'turn', count: 0 };
          known.count += 1;
          counts.set(key, known);
        }
        left -= page.runs.length;
        next = page.next;
      }
    }
    return [...counts.values()];
  }
}

/** Looks up the figures of this node at an interval; null when the settings turn metrics off. */
export function openFigures(
  metrics: NodeMetrics | null,
  {
    context,
    stores,
    runtime,
    areas,
  }: {
    readonly context: Pick<NodeContext, 'clock' | 'warn'>;
    readonly stores: Pick<OpenStores, 'store'>;
    readonly runtime: FiguresParts['runtime'];
    readonly areas: Pick<Areas, 'ports' | 'lists'>;
  },
): BackgroundFigures | null {
  if (metrics === null) return null;
  const { lists, ports } = areas;
  return new BackgroundFigures({
    metrics,
    store: stores.store,
    runtime,
    runs: ports.runs,
    tenants: async () => {
      const found = await Promise.all([lists.executions.tenants(), lists.workflows.tenants()]);
      return [...new Set(found.flat())];
    },
    clock: context.clock,
    warn: context.warn,
  });
}
