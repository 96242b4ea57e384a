import type { Address, Partition } from '../../runtime/address.ts';
import type { EffectLedger, EffectRow } from '../../runtime/effect-ledger.ts';
import { decodeEffect } from '../../runtime/effects/effect-envelope.ts';
import type { Payloads } from '../../runtime/turns/payload.ts';
import { isoTime, withoutSecrets } from './reader-view.ts';

interface BodyParts {
  readonly store: Pick<EffectLedger, 'effectBodies'>;
  readonly payloads: Payloads;
}

interface OpenEffectParts extends BodyParts {
  readonly store: Pick<EffectLedger, 'openEffects' | 'effectBodies'>;
}

interface ActorEffectParts extends BodyParts {
  readonly store: Pick<EffectLedger, 'effectRows' | 'effectBodies'>;
}

/** Most effects of one actor that are shown. */
const MOST_OF_ACTOR = 500;

/** The unsettled effects among those that an actor requested. Reads no other effects of its partition. */
export async function actorEffects(
  parts: ActorEffectParts,
  partition: Partition,
  ids: readonly string[],
): Promise<OpenEffect[]> {
  return (await actorEffectRows(parts, partition, ids)).map(({ row, request }) => shownEffect(row, request));
}

/** The rows of these effects, with the request of each. */
export async function actorEffectRows(
  parts: ActorEffectParts,
  partition: Partition,
  ids: readonly string[],
): Promise<RequestedRow[]> {
  const rows = await parts.store.effectRows(partition, ids.slice(0, MOST_OF_ACTOR));
  return withRequests(
    parts,
    partition,
    rows.filter((row) => row !== null),
  );
}

/** The fields of a request besides its input. */
interface Requested {
  readonly kind: string;
  readonly cause: string;
  readonly trace: string;
}

interface RequestedRow {
  readonly row: EffectRow;
  readonly request: Requested | null;
}

/** An effect that has not ended. */
export interface OpenEffect {
  readonly effect_id: string;
  readonly kind: string | null;
  /** Message whose turn requested it. */
  readonly message_id: string | null;
  /** Trace of that message. */
  readonly trace: string | null;
  readonly status: 'open' | 'started' | 'retrying';
  readonly attempt: number;
  readonly node: string | null;
  readonly retry_at: string | null;
  /** Why the attempt before failed. */
  readonly last_error: { readonly code: string; readonly message: string } | null;
}

/**
 * The open effects of some actors of a partition with their kinds, which only their requests have. A call reads the rows
 * of all effects of the partition.
 */
export async function openEffectsOf(
  parts: OpenEffectParts,
  partition: Partition,
  addresses: ReadonlySet<Address>,
): Promise<OpenEffect[]> {
  const rows = (await parts.store.openEffects(partition)).filter((row) => addresses.has(row.address));
  return (await withRequests(parts, partition, rows)).map(({ row, request }) => shownEffect(row, request));
}

async function withRequests(
  { store, payloads }: BodyParts,
  partition: Partition,
  rows: readonly EffectRow[],
): Promise<RequestedRow[]> {
  const bodies = await store.effectBodies(
    partition,
    rows.map(({ id }) => id),
  );
  return Promise.all(rows.map(async (row, index) => ({ row, request: await requestIn(bodies[index], payloads) })));
}

async function requestIn(body: string | null | undefined, payloads: Payloads): Promise<Requested | null> {
  if (body == null) return null;
  const { request, cause, trace } = decodeEffect(await payloads.unpack(body));
  return { kind: request.kind, cause, trace };
}

function shownEffect(row: EffectRow, request: Requested | null): OpenEffect {
  const waits = row.status === 'open' && row.attempt > 0;
  return {
    effect_id: row.id,
    kind: request?.kind ?? null,
    message_id: request?.cause ?? null,
    trace: request?.trace ?? null,
    status: waits ? 'retrying' : row.status,
    attempt: row.attempt,
    node: row.runner === '' ? null : (row.runner.split('/')[0] ?? null),
    retry_at: waits ? isoTime(row.until) : null,
    last_error:
      row.lastError === undefined ? null : { ...row.lastError, message: withoutSecrets(row.lastError.message) },
  };
}
