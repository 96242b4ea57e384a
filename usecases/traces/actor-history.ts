import { type Address, tenantOf } from '../../runtime/address.ts';
import type { ActorClient } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { type Json, jsonDifferences, plainJson } from '../../runtime/json.ts';
import type { LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import type { RecordedParts } from '../../runtime/runtime.ts';
import { type ReplayDifference as RecordedDifference, replayActor } from '../../runtime/turns/replay.ts';
import { actorLines } from './actor-lines.ts';
import { openActor } from './actors.ts';
import { type DeliveryRow, deliveryRow } from './delivery-row.ts';
import { isoTime, shownValue } from './reader-view.ts';
import { Sight, type SightParts } from './sight.ts';
import { attemptNumbers, keptLedger, namingNext } from './trace.ts';

interface ActorHistory {
  readonly address: Address;
  readonly deliveries: readonly DeliveryRow[];
  readonly next: string | null;
  readonly kept_from?: string;
}

/** The first turn that a replay decides differently than recorded, because the code has changed since. */
interface ReplayDifference {
  readonly message_id: string;
  readonly parts: RecordedDifference['parts'];
}

interface StateHead {
  readonly address: Address;
  /** The first difference up to this message; null when the replay equals the record. */
  readonly differs: ReplayDifference | null;
}

interface ActorStateAt extends StateHead {
  readonly message_id: string;
  readonly at: string;
  readonly revision: number;
  readonly last_event: number;
  /** Without secrets. */
  readonly state: Json;
  readonly state_chars: number;
  readonly state_omitted?: true;
}

interface ActorStateDiff extends StateHead {
  /** Null: before the message `to`. */
  readonly from: string | null;
  readonly to: string;
  readonly changes: readonly StateChange[];
  /** More changes exist than one answer holds. */
  readonly cut: boolean;
}

/** The history of single actors. All calls throw `not_found` for actors and messages that the reader may not see. */
export interface ActorHistoryApi {
  /** Deliveries to the actor, oldest first unless `newestFirst`. */
  history(
    viewer: Identity,
    kind: string,
    id: string,
    page: { readonly limit: number; readonly next?: string | undefined; readonly newestFirst: boolean },
  ): Promise<ActorHistory>;
  /** The state after a message, rebuilt by replay. Throws `failed_precondition` when it cannot be rebuilt. */
  stateAt(viewer: Identity, kind: string, id: string, message: string): Promise<ActorStateAt>;
  /** The changes of the state between two messages. Default of `from`: just before `to`. */
  diff(viewer: Identity, kind: string, id: string, range: { from?: string; to: string }): Promise<ActorStateDiff>;
}

export interface ActorHistoryParts extends SightParts {
  readonly client: Pick<ActorClient, 'read' | 'events'>;
  readonly registry: RecordedParts['registry'];
  readonly payloads: RecordedParts['payloads'];
  readonly retry: RecordedParts['retry'];
  readonly ledger: LedgerReader | null;
}

export function createActorHistoryApi(parts: ActorHistoryParts): ActorHistoryApi {
  return {
    async history(viewer, kind, id, { limit, next, newestFirst }) {
      const { address } = await openActor(parts, viewer, kind, id);
      const ledger = keptLedger(parts);
      const sight = new Sight(parts, viewer);
      const page = await namingNext(ledger.actor(address, { limit, after: next, newestFirst }));
      const seen = await Promise.all(page.deliveries.map(({ message }) => sight.seesMessage(message)));
      const deliveries = page.deliveries.filter((_one, index) => seen[index]);
      const [attempts, keptFrom] = await Promise.all([
        attemptNumbers(ledger, sight.tenant, deliveries),
        ledger.keptFrom(sight.tenant),
      ]);
      return {
        address,
        deliveries: deliveries.map((one, index) => deliveryRow(one, attempts[index] ?? 1)),
        next: page.next,
        ...(keptFrom === null ? {} : { kept_from: isoTime(keptFrom) }),
      };
    },

    async stateAt(viewer, kind, id, message) {
      const replay = new ActorReplay(parts, (await openActor(parts, viewer, kind, id)).address);
      const { state, revision, lastEvent, at, differs } = await replay.state(message, 'at');
      const { value, chars, omitted } = shownValue(plainJson(state));
      return {
        address: replay.address,
        message_id: message,
        at: isoTime(at),
        revision,
        last_event: lastEvent,
        state: value,
        state_chars: chars,
        ...(omitted === undefined ? {} : { state_omitted: omitted }),
        differs,
      };
    },

    async diff(viewer, kind, id, { from, to }) {
      const replay = new ActorReplay(parts, (await openActor(parts, viewer, kind, id)).address);
      const before = await (from === undefined ? replay.state(to, 'to', 'before') : replay.state(from, 'from'));
      const after = await replay.state(to, 'to');
      const [old, now] = [before, after].map(({ state }) => shownValue(plainJson(state)).value);
      const { changes, cut } = stateChanges(old ?? null, now ?? null);
      return {
        address: replay.address,
        from: from ?? null,
        to,
        changes,
        cut,
        differs: before.differs ?? after.differs,
      };
    },
  };
}

interface Rebuilt {
  readonly state: unknown;
  readonly revision: number;
  readonly lastEvent: number;
  /** Append time of the message. */
  readonly at: number;
  readonly differs: ReplayDifference | null;
}

/** One actor whose states are rebuilt by replay. */
class ActorReplay {
  readonly address: Address;
  readonly #parts: ActorHistoryParts;
  readonly #ledger: LedgerReader;
  readonly #tenant: string;

  constructor(parts: ActorHistoryParts, address: Address) {
    this.#parts = parts;
    this.address = address;
    this.#ledger = keptLedger(parts);
    this.#tenant = tenantOf(address);
  }

  /** Rebuilds the state after a message, or just before it, and compares each turn on the way with its record. */
  async state(message: string, field: string, side: 'after' | 'before' = 'after'): Promise<Rebuilt> {
    const { registry, retry } = this.#parts;
    const definition = registry.definitionOf(this.address);
    const deliveries = await this.#ledger.message(this.#tenant, message);
    // The last attempt is the one that counted.
    const last = deliveries.findLast((one) => one.message.to === this.address);
    if (last === undefined || definition === undefined)
      throw new SvcError('not_found', `${field}: the actor received no message with this id`, { field });
    const lines = actorLines({ ledger: this.#ledger, payloads: this.#parts.payloads }, this.address, { last, side });
    const { record, difference } = await replayActor(definition, this.address, lines, { retry });
    if (difference !== null) await this.#refuseCut();
    return {
      state: record.state,
      revision: record.revision,
      lastEvent: record.lastEvent,
      at: last.at,
      differs: difference && { message_id: difference.message.id, parts: difference.parts },
    };
  }

  /** A replay without the first messages would differ at its first message. */
  async #refuseCut(): Promise<void> {
    const keptFrom = await this.#ledger.keptFrom(this.#tenant);
    if (keptFrom === null) return;
    const since = `deliveries of the tenant are kept from ${isoTime(keptFrom)} on`;
    throw new SvcError('failed_precondition', `the state cannot be rebuilt from its first message: ${since}`);
  }
}

/** One difference between two states. */
interface StateChange {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  /** Null for `added`. */
  readonly before: Json;
  /** Null for `removed`. */
  readonly after: Json;
}

/** Most changes of one answer. */
const MOST_CHANGES = 1_000;

/** The differences between two states, at any depth of objects and lists, in the order of their members. */
export function stateChanges(
  before: Json,
  after: Json,
): { readonly changes: readonly StateChange[]; readonly cut: boolean } {
  const changes: StateChange[] = [];
  for (const { path, before: old, after: now } of jsonDifferences(before, after)) {
    if (changes.length === MOST_CHANGES) return { changes, cut: true };
    const kind = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
    changes.push({ path: path.map(pointerPart).join(''), kind, before: old ?? null, after: now ?? null });
  }
  return { changes, cut: false };
}

const pointerPart = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
