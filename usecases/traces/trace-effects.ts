import { z } from 'zod';
import type { Address, Partition } from '../../runtime/address.ts';
import { EffectResult } from '../../runtime/effect.ts';
import type { EffectLedger } from '../../runtime/effect-ledger.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { LedgerDelivery } from '../../runtime/ledger/ledger-reader.ts';
import { decodeEntry } from '../../runtime/turns/loading.ts';
import type { Payloads } from '../../runtime/turns/payload.ts';
import { openEffectsOf } from './open-effects.ts';
import { isoTime } from './reader-view.ts';

/** The parts that read the effects of a trace. */
export interface TraceEffectParts {
  readonly client: { partitionOf(address: Address): Promise<Partition> };
  readonly store: Pick<EffectLedger, 'openEffects' | 'effectBodies'>;
  readonly payloads: Payloads;
}

export const EFFECT_OUTCOMES = ['done', 'failed', 'in_doubt', 'open', 'started', 'retrying'] as const;

/** One effect of a trace, as clients get it. */
export interface TraceEffect {
  readonly effect_id: string;
  /** The message whose turn requested it. */
  readonly message_id: string | null;
  readonly kind: string | null;
  readonly attempt: number;
  readonly node: string | null;
  readonly started_at: string | null;
  /** When its result was appended; null while it has none. */
  readonly ended_at: string | null;
  readonly outcome: (typeof EFFECT_OUTCOMES)[number];
}

/** Most live actors of a trace whose open effects are looked up. */
const MOST_ACTORS = 200;

const Result = EffectResult.omit({ context: true, outcome: true }).extend({
  outcome: z.object({ kind: z.enum(['done', 'failed', 'in_doubt']) }),
});

/** Effects whose results are among the deliveries, in their order. */
export async function resultEffects(
  { payloads }: Pick<TraceEffectParts, 'payloads'>,
  deliveries: readonly LedgerDelivery[],
): Promise<TraceEffect[]> {
  const ends = new Map(deliveries.map(({ message, at, row }) => [message.id, at + (row?.waitMs ?? 0)]));
  const found: TraceEffect[] = [];
  for (const delivery of deliveries) {
    // A later attempt of the turn carries the same result.
    if (delivery.effect === null || delivery.part !== undefined) continue;
    const result = Result.safeParse(await payloadOf(payloads, delivery)).data;
    if (result === undefined) continue;
    const { cause } = delivery.message;
    const startedAt = result.startedAtMs ?? ends.get(cause ?? '');
    found.push({
      effect_id: result.effectId,
      message_id: cause,
      kind: result.kind,
      attempt: result.attempt,
      node: result.node ?? null,
      started_at: startedAt === undefined ? null : isoTime(Math.min(startedAt, delivery.at)),
      ended_at: isoTime(delivery.at),
      outcome: result.outcome.kind,
    });
  }
  return found;
}

/** Effects of the trace that have not ended. */
export async function openTraceEffects(
  parts: TraceEffectParts,
  trace: string,
  deliveries: readonly LedgerDelivery[],
): Promise<TraceEffect[]> {
  const actors = [...new Set(deliveries.map(({ message }) => message.to))].slice(-MOST_ACTORS);
  const { client, store, payloads } = parts;
  const placed = await Promise.all(
    actors.map(async (address) => ({ address, partition: await client.partitionOf(address) })),
  );
  const found = await Promise.all(
    [...Map.groupBy(placed, ({ partition }) => partition)].map(([partition, some]) =>
      openEffectsOf({ store, payloads }, partition, new Set(some.map(({ address }) => address))),
    ),
  );
  return found
    .flat()
    .filter((one) => one.trace === trace)
    .map(({ effect_id, message_id, kind, attempt, node, status }) => ({
      effect_id,
      message_id,
      kind,
      attempt,
      node,
      started_at: null,
      ended_at: null,
      outcome: status,
    }));
}

/** The payload of a delivery, read from Blobs when it is large; null when it was removed with its actor. */
export async function payloadOf(payloads: Payloads, { body, message }: LedgerDelivery): Promise<Json> {
  if (!body.startsWith('@')) return message.payload;
  const decoded = await decodeEntry(payloads, body);
  return decoded instanceof SvcError ? null : decoded.payload;
}
