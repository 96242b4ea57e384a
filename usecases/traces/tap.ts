import { parseAddress } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, sees, seesAll } from '../../runtime/identity.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import type { LedgerDelivery } from '../../runtime/ledger/ledger-reader.ts';
import type { LedgerNews } from '../../runtime/ledger/ledger-tail.ts';
import { type OwnedStorageEvent, STORAGE_EVENTS, type StorageEvent, type StorageTail } from '../ports/volumes.ts';
import { type DeliveryOutcome, type DeliveryRow, deliveryRow, outcomeOf } from './delivery-row.ts';
import { Sight, type SightParts } from './sight.ts';

export interface TapFilter {
  readonly kind?: string | undefined;
  /** `kind/id`. */
  readonly actor?: string | undefined;
  readonly type?: string | undefined;
  readonly outcome?: DeliveryOutcome | undefined;
  readonly trace?: string | undefined;
}

/** A delivery with its trace. */
interface TappedDelivery extends DeliveryRow {
  readonly trace_id: string;
}

export type TapRecord =
  | { readonly delivery: TappedDelivery }
  /** A storage event of a volume. */
  | { readonly storage: StorageEvent }
  /** How many deliveries and storage events were skipped since the record before, because the reader or the node was too slow. */
  | { readonly dropped: number };

/** Follows deliveries of a tenant as they are written to the ledger, and its storage events. */
export interface TapApi {
  /**
   * Opens a tap; its records come some at a time and end with the signal, and null stands for about `heartbeatMs` without
   * one. Throws `failed_precondition` when the node keeps no ledger, `rate_limited` when it has `MOST_TAPS` of the tenant.
   */
  open(
    viewer: Identity,
    filter: TapFilter,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): Promise<AsyncIterable<readonly TapRecord[] | null>>;
}

interface Tail {
  read(most: number): Promise<LedgerNews>;
}

interface TapParts extends SightParts {
  /** Opens the end of a tenant's ledger. */
  readonly tail: (tenant: string) => Promise<Tail>;
  /** Follows the storage events of a tenant. Absent: a tap has none. */
  readonly storage?: (tenant: string) => Promise<StorageTail>;
  readonly clock: Clock;
}

const LOOK_EVERY_MS = 500;

/** Most deliveries of one look. Further ones are counted and not read. */
const MOST_AT_ONCE = 3_000;

/** Most records that are passed on together: writing each record alone would cost more than reading it. */
const MOST_TOGETHER = 100;

/** Most open taps of a tenant on a node: each reads all that is written to the tenant's ledger. */
export const MOST_TAPS = 16;

export function createTapApi(parts: TapParts): TapApi {
  /** Open taps by tenant. */
  const open = new Map<string, number>();
  return {
    async open(viewer, filter, options) {
      const { tenant } = viewer;
      if ((open.get(tenant) ?? 0) >= MOST_TAPS) {
        const why = `This tenant has ${MOST_TAPS} taps open on this node, the maximum. Close one first.`;
        throw new SvcError('rate_limited', why, { retryAfterMs: 5_000 });
      }
      count(open, tenant, 1);
      try {
        const tail = await parts.tail(tenant);
        const storage = mayBeStorage(filter) ? await parts.storage?.(tenant) : undefined;
        return counted(open, tenant, records(parts, viewer, filter, { ...options, tail, storage }));
      } finally {
        count(open, tenant, -1);
      }
    },
  };
}

/** Counts the tap from its first record to its end. */
async function* counted<T>(open: Map<string, number>, tenant: string, records: AsyncIterable<T>): AsyncGenerator<T> {
  count(open, tenant, 1);
  try {
    yield* records;
  } finally {
    count(open, tenant, -1);
  }
}

function count(open: Map<string, number>, tenant: string, by: 1 | -1): void {
  const now = (open.get(tenant) ?? 0) + by;
  if (now === 0) open.delete(tenant);
  else open.set(tenant, now);
}

async function* records(
  parts: TapParts,
  viewer: Identity,
  filter: TapFilter,
  {
    signal,
    heartbeatMs,
    tail,
    storage,
  }: Parameters<TapApi['open']>[2] & { readonly tail: Tail; readonly storage?: StorageTail | undefined },
): AsyncGenerator<readonly TapRecord[] | null> {
  const { clock } = parts;
  let saidAt = clock.monotonic();
  while (!signal.aborted) {
    // A slow reader asks rarely. When more was written meanwhile than one read returns, the rest is skipped and
    // counted.
    const { deliveries, skipped } = await tail.read(MOST_AT_ONCE);
    const sight = new Sight(parts, viewer);
    for (let from = 0; from < deliveries.length; from += MOST_TOGETHER) {
      const fitting = deliveries.slice(from, from + MOST_TOGETHER).filter((one) => fits(one, filter));
      const seen = await Promise.all(fitting.map(({ message }) => sight.seesMessage(message)));
      const some = fitting.filter((_one, index) => seen[index]).map((one) => ({ delivery: rowOf(one) }));
      if (signal.aborted) return;
      if (some.length === 0) continue;
      yield some;
      saidAt = clock.monotonic();
    }
    const stored = (await storage?.read(MOST_AT_ONCE)) ?? { events: [], skipped: 0 };
    const shown = stored.events.filter((event) => fitsStorage(event, filter) && seesStorage(viewer, event));
    for (let from = 0; from < shown.length; from += MOST_TOGETHER) {
      if (signal.aborted) return;
      yield shown.slice(from, from + MOST_TOGETHER).map(({ owner: _owner, ...event }) => ({ storage: event }));
      saidAt = clock.monotonic();
    }
    const dropped = skipped + stored.skipped;
    if (dropped > 0) yield [{ dropped }];
    if (clock.monotonic() - saidAt >= heartbeatMs) {
      yield null;
      saidAt = clock.monotonic();
    }
    await sleep(clock, LOOK_EVERY_MS, signal);
  }
}

const rowOf = (one: LedgerDelivery): TappedDelivery => ({
  ...deliveryRow(one, one.row?.attempt ?? 1),
  trace_id: one.message.trace,
});

function fits(one: LedgerDelivery, { kind, actor, type, outcome, trace }: TapFilter): boolean {
  const { message } = one;
  const to = parseAddress(message.to);
  return (
    (kind === undefined || to.kind === kind) &&
    (actor === undefined || `${to.kind}/${to.id}` === actor) &&
    (type === undefined || message.type === type) &&
    (trace === undefined || message.trace === trace) &&
    (outcome === undefined || outcomeOf(one) === outcome)
  );
}

/** Kind by which a filter names volumes, as `kind` or in `actor`. */
const VOLUME_KIND = 'volume';

/** Whether a storage event could fit: it has no trace and no outcome of a delivery. */
function mayBeStorage({ kind, actor, type, outcome, trace }: TapFilter): boolean {
  if (outcome !== undefined || trace !== undefined) return false;
  if (kind !== undefined && kind !== VOLUME_KIND) return false;
  if (actor !== undefined && !actor.startsWith(`${VOLUME_KIND}/`)) return false;
  return type === undefined || STORAGE_EVENTS.some((event) => event === type);
}

const fitsStorage = ({ event, volume_id }: StorageEvent, { actor, type }: TapFilter): boolean =>
  (actor === undefined || actor === `${VOLUME_KIND}/${volume_id}`) && (type === undefined || type === event);

const seesStorage = (viewer: Identity, { owner }: OwnedStorageEvent): boolean =>
  owner === undefined ? seesAll(viewer) : sees(viewer, owner ?? undefined);
