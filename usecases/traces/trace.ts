import type { Clock } from '../../runtime/clock.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import { endOf } from './critical-path.ts';
import { attemptsOf, type DeliveryRow, deliveryRow } from './delivery-row.ts';
import { isoTime } from './reader-view.ts';
import { Sight, type SightParts } from './sight.ts';
import { openTraceEffects, resultEffects, type TraceEffect, type TraceEffectParts } from './trace-effects.ts';
import { type TraceLink, traceLinks } from './trace-links.ts';
import { type RunStatusParts, type TraceStatus, traceStatus } from './trace-status.ts';

/** The parts that read traces. */
export interface TraceParts {
  readonly client: SightParts['client'] & TraceEffectParts['client'];
  readonly registry: SightParts['registry'];
  readonly executions: RunStatusParts['executions'];
  readonly workflows: RunStatusParts['workflows'];
  readonly documents: RunStatusParts['documents'];
  readonly store: TraceEffectParts['store'];
  readonly payloads: TraceEffectParts['payloads'];
  readonly clock: Pick<Clock, 'now'>;
  /** Null on a node that keeps no ledger. */
  readonly ledger: LedgerReader | null;
}

/** The data of a trace that is known without reading all of it. */
export interface TraceHead {
  readonly trace_id: string;
  /** Id of the message that began it; null when retention removed that. */
  readonly root: string | null;
  readonly status: TraceStatus;
  readonly started_at: string;
  /** Null while it runs. */
  readonly ended_at: string | null;
  readonly links: readonly TraceLink[];
  /** Present when retention removed deliveries of the tenant: ISO 8601, from when on they are kept. */
  readonly kept_from?: string;
}

/** A part of a trace in the order of time. */
export interface TracePage extends TraceHead {
  readonly deliveries: readonly DeliveryRow[];
  /** Effects whose results are among these deliveries; on the last page also those that have not ended. */
  readonly effects: readonly TraceEffect[];
  /** For `?next=`; null at the end. */
  readonly next: string | null;
}

/** Most deliveries of one page, and those that are searched for the calls of a trace. */
export const MOST_OF_PAGE = 1_000;

/** Most deliveries that summaries and critical paths use: a trace of 10,000, and those that were on their way then. */
const MOST_READ = 11_000;

/** Deliveries of a trace that the reader sees, read from its beginning or behind a page. */
interface Stretch {
  readonly deliveries: LedgerDelivery[];
  /** How many were read, those included that the reader may not see. */
  readonly read: number;
  /** Position at which it continues; null at the end. */
  readonly next: string | null;
}

const notFound = (): SvcError => new SvcError('not_found', 'trace not found');

/** The ledger of a node, or a refusal when it keeps none. */
export function keptLedger({ ledger }: Pick<TraceParts, 'ledger'>): LedgerReader {
  if (ledger === null) throw new SvcError('failed_precondition', 'this node keeps no ledger (spec.kernel.ledger)');
  return ledger;
}

/** One trace as one reader sees it. */
export class TraceReading {
  readonly #parts: TraceParts;
  readonly #ledger: LedgerReader;
  readonly #sight: Sight;
  readonly trace: string;

  constructor(parts: TraceParts, viewer: Identity, trace: string) {
    this.#parts = parts;
    this.#ledger = keptLedger(parts);
    this.#sight = new Sight(parts, viewer);
    this.trace = trace;
  }

  get tenant(): string {
    return this.#sight.tenant;
  }

  /** Reads a page. Throws `not_found`, also when the reader may see nothing of the trace. */
  async page(page: { readonly limit: number; readonly next?: string | undefined }): Promise<TracePage> {
    const { deliveries, read, next } = await this.#visible(page.limit, page.next);
    // Each page says the same of the trace, however long it is.
    const isWhole = page.next === undefined && (next === null || page.limit >= MOST_OF_PAGE);
    const first = isWhole ? { deliveries, read, next } : await this.#visible(MOST_OF_PAGE, undefined);
    const { head } = await this.#withHead(first);
    return { ...head, ...(await this.#rows(deliveries, next === null && head.status === 'running')), next };
  }

  /** All pages, the first one with the head of the trace. Pages that the head needs are read once. */
  async *pages(limit: number): AsyncGenerator<TracePage> {
    const begun = await this.#withHead(await this.#visible(limit, undefined));
    const { head } = begun;
    let { deliveries, next } = begun;
    for (;;) {
      const some = deliveries.slice(0, limit);
      deliveries = deliveries.slice(limit);
      const isLast = deliveries.length === 0 && next === null;
      yield { ...head, ...(await this.#rows(some, isLast && head.status === 'running')), next };
      if (isLast) return;
      if (deliveries.length === 0) ({ deliveries, next } = await this.#visible(limit, next ?? undefined));
    }
  }

  /** Up to 11,000 deliveries of the trace, with its head. */
  async whole(): Promise<{ readonly head: TraceHead; readonly deliveries: LedgerDelivery[]; readonly cut: boolean }> {
    const { head, deliveries, next } = await this.#withHead(
      await this.#scan(await this.#visible(MOST_OF_PAGE, undefined)),
    );
    return { head, deliveries, cut: next !== null };
  }

  /** Continues behind the deliveries that were read, up to 11,000 deliveries. */
  async #scan(begun: Stretch): Promise<Stretch> {
    const deliveries = [...begun.deliveries];
    let { read, next } = begun;
    // Callers choose trace ids, so there may be many more that this reader may not see.
    while (next !== null && read < MOST_READ) {
      const page = await this.#visible(MOST_OF_PAGE, next);
      deliveries.push(...page.deliveries);
      read += page.read;
      next = page.next;
    }
    return { deliveries, read, next };
  }

  /** A page of the ledger without what the reader may not see. */
  async #visible(limit: number, after: string | undefined): Promise<Stretch> {
    const page = await this.#ledger.trace(this.tenant, this.trace, { limit, after });
    const seen = await Promise.all(page.deliveries.map(({ message }) => this.#sight.seesMessage(message)));
    const deliveries = page.deliveries.filter((_one, index) => seen[index]);
    return { deliveries, read: page.deliveries.length, next: page.next };
  }

  /** The head of the trace, with the deliveries read for it: more than `begun` when the trace has ended. */
  async #withHead(begun: Stretch): Promise<Stretch & { readonly head: TraceHead }> {
    // The reader may see none of the first deliveries, and some of the later ones.
    let stretch = begun.deliveries.length === 0 ? await this.#scan(begun) : begun;
    const first = stretch.deliveries;
    const [earliest] = first;
    if (earliest === undefined) throw notFound();
    const root = first.find(({ message }) => message.cause === null);
    const { executions, workflows } = this.#parts;
    const [links, { status, endedAt }, keptFrom] = await Promise.all([
      traceLinks({ executions, workflows, ledger: this.#ledger, sight: this.#sight }, this.trace, first),
      traceStatus(this.#parts, this.#sight.viewer, root ?? null, first),
      this.#ledger.keptFrom(this.tenant),
    ]);
    let ended = endedAt;
    if (status !== 'running' && ended === null) {
      stretch = await this.#scan(stretch);
      ended = lastEnd(stretch.deliveries);
    }
    const head = {
      trace_id: this.trace,
      root: root?.message.id ?? null,
      status,
      started_at: isoTime((root ?? earliest).at),
      ended_at: status === 'running' ? null : ended,
      links,
      ...(keptFrom === null ? {} : { kept_from: isoTime(keptFrom) }),
    };
    return { ...stretch, head };
  }

  async #rows(deliveries: readonly LedgerDelivery[], isOpen: boolean) {
    const attempts = await attemptNumbers(this.#ledger, this.tenant, deliveries);
    const ended = await resultEffects(this.#parts, deliveries);
    const open = isOpen ? await openTraceEffects(this.#parts, this.trace, deliveries) : [];
    return {
      deliveries: deliveries.map((one, index) => deliveryRow(one, attempts[index] ?? 1)),
      effects: [...ended, ...open],
    };
  }
}

function lastEnd(deliveries: readonly LedgerDelivery[]): string {
  let last = 0;
  for (const { at, row } of deliveries)
    last = Math.max(last, endOf({ at, wait_ms: row?.waitMs ?? 0, turn_ms: (row?.turnUs ?? 0) / 1_000 }));
  return isoTime(last);
}

/** The attempt of each delivery. Only later ones need their message to be looked up. */
export async function attemptNumbers(
  ledger: LedgerReader,
  tenant: string,
  deliveries: readonly LedgerDelivery[],
): Promise<number[]> {
  const known = new Map<string, Promise<readonly LedgerDelivery[]>>();
  return Promise.all(
    deliveries.map(async (one) => {
      if (one.part === undefined) return 1;
      const { id } = one.message;
      const all = known.get(id) ?? ledger.message(tenant, id);
      known.set(id, all);
      const found = await all;
      const index = found.findIndex(({ seq, part, partition, at }) => {
        return seq === one.seq && part === one.part && partition === one.partition && at === one.at;
      });
      return attemptsOf(found)[index] ?? 1;
    }),
  );
}

/** Names `next` in the error for a token that the ledger does not know. */
export async function namingNext<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'invalid_argument' || thrown.field !== 'after') throw thrown;
    throw invalidField('next', 'expected the next of an earlier page');
  }
}
