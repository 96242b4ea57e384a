import type { Backlog } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition, poolOf } from '../../runtime/address.ts';
import type { ActorSnapshot } from '../../runtime/client.ts';
import type { EffectLedger } from '../../runtime/effect-ledger.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { type Json, plainJson } from '../../runtime/json.ts';
import { timerId } from '../../runtime/turns/actor-draft.ts';
import type { Payloads } from '../../runtime/turns/payload.ts';
import { actorEffects, type OpenEffect } from './open-effects.ts';
import { isoTime, shownValue, withoutSecrets } from './reader-view.ts';
import { Sight, type SightParts } from './sight.ts';

/** An actor as readers get it. */
interface ShownActor {
  readonly address: Address;
  readonly kind: string;
  readonly id: string;
  /** Without secrets. Null when `state_omitted` is set. */
  readonly state: Json;
  readonly state_chars: number;
  readonly state_omitted?: true;
  /** Number of turns that changed it. */
  readonly revision: number;
  readonly last_event: number;
  readonly archived: boolean;
  readonly partition: Partition;
  readonly pool: string;
  /** The node that serves its partition. */
  readonly node: string | null;
  readonly mailbox: { readonly depth: number; readonly oldest_at: string | null };
  readonly timers: readonly { readonly name: string; readonly due_at: string | null }[];
  readonly effects: readonly Omit<OpenEffect, 'trace'>[];
  readonly stuck: { readonly message_type: string; readonly error: string; readonly attempts: number } | null;
}

/** Reads single actors by address. All calls throw `not_found` for what the reader may not see. */
export interface ActorReads {
  get(viewer: Identity, kind: string, id: string): Promise<ShownActor>;
}

export interface ActorReadParts extends SightParts {
  readonly client: SightParts['client'] & {
    mailbox(address: Address): Promise<Backlog & { readonly depth: number }>;
    partitionOf(address: Address): Promise<Partition>;
  };
  readonly store: Pick<EffectLedger, 'effectRows' | 'effectBodies'> & {
    timersDue(partition: Partition, ids: readonly string[]): Promise<(number | null)[]>;
  };
  readonly payloads: Payloads;
  /** The node that serves a partition; null while none does. */
  readonly nodeOf: (partition: Partition) => Promise<string | null>;
}

export function createActorReads(parts: ActorReadParts): ActorReads {
  return {
    async get(viewer, kind, id) {
      const { address, snapshot } = await openActor(parts, viewer, kind, id);
      return shownActor(parts, address, snapshot);
    },
  };
}

/** Finds an actor that the reader may see, or throws `not_found`. */
export async function openActor(
  parts: SightParts,
  viewer: Identity,
  kind: string,
  id: string,
): Promise<{ readonly address: Address; readonly snapshot: ActorSnapshot }> {
  const sight = new Sight(parts, viewer);
  const address = addressOf(kind, sight.tenant, id);
  const snapshot = (await sight.mayOpen(address)) ? await parts.client.read(address) : null;
  if (snapshot === null) throw new SvcError('not_found', 'actor not found');
  return { address, snapshot };
}

async function shownActor(parts: ActorReadParts, address: Address, snapshot: ActorSnapshot): Promise<ShownActor> {
  const { client, store, nodeOf } = parts;
  const [kind = '', , id = ''] = address.split('/');
  const partition = await client.partitionOf(address);
  const [{ depth, oldestAt }, node, due, effects] = await Promise.all([
    client.mailbox(address),
    snapshot.archived ? null : nodeOf(partition),
    store.timersDue(
      partition,
      snapshot.timers.map((name) => timerId(address, name)),
    ),
    actorEffects(parts, partition, snapshot.effects ?? []),
  ]);
  const { value, chars, omitted } = shownValue(plainJson(snapshot.state));
  return {
    address,
    kind,
    id,
    state: value,
    state_chars: chars,
    ...(omitted === undefined ? {} : { state_omitted: omitted }),
    revision: snapshot.revision,
    last_event: snapshot.lastEvent,
    archived: snapshot.archived,
    partition,
    pool: poolOf(partition),
    node,
    mailbox: { depth, oldest_at: depth === 0 || oldestAt === null ? null : isoTime(oldestAt) },
    timers: snapshot.timers.map((name, index) => ({ name, due_at: timeOrNull(due[index]) })),
    effects: effects.map(({ trace: _trace, ...shown }) => shown),
    stuck: stuckOf(snapshot),
  };
}

const timeOrNull = (ms: number | null | undefined): string | null => (ms == null ? null : isoTime(ms));

function stuckOf({ stuck }: ActorSnapshot): ShownActor['stuck'] {
  if (stuck === null) return null;
  return { message_type: stuck.messageType, error: withoutSecrets(stuck.error), attempts: stuck.attempts };
}
