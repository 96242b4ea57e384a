import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import type { EffectError, EffectRow } from '../../runtime/effect-ledger.ts';
import { Identity } from '../../runtime/identity.ts';
import { poolOfTags, tagsOfPool } from '../../runtime/locator.ts';
import { withoutSecrets } from '../traces/reader-view.ts';

/** An effect whose result is missing. */
export interface WaitedEffect {
  readonly effect_id: string;
  readonly kind: string;
  /**
   * `open`: no runner has claimed it; `started`: attempt `attempt` runs on `runner`; `retrying`: the attempt after
   * `attempt` begins at `retry_at`; `answered`: its result is in the mailbox.
   */
  readonly status: 'open' | 'started' | 'retrying' | 'answered';
  readonly attempt: number;
  /** `node/incarnation`. */
  readonly runner?: string;
  /** ISO 8601. */
  readonly retry_at?: string;
  /** Why the last attempt that failed did so. */
  readonly last_error?: EffectError;
  /** What blocks a started effect, if the node that answers this request runs it. */
  readonly held_by?: string;
}

/** A judge that has not answered: its start is requested, or its execution runs. */
export interface WaitedJudge {
  readonly agent: string;
  readonly execution_id: string;
  readonly status: 'asked' | 'judging';
}

/** What one execution waits for, without its children. */
export interface OwnWait {
  readonly kind: 'node' | 'timer' | 'approval' | 'child' | 'judges' | 'effect' | 'volumes' | 'turn';
  /** For people. */
  readonly reason: string;
  /** Current state of a workflow. */
  readonly state_name?: string;
  /** Tags that no live node has. */
  readonly tags?: readonly string[];
  readonly approval_id?: string;
  readonly child_execution_ids?: readonly string[];
  readonly judges?: readonly WaitedJudge[];
  readonly effects?: readonly WaitedEffect[];
  /** ISO 8601: when the execution's own timer ends the wait, such as a pause or a time-out. */
  readonly until?: string;
}

/** What an unfinished execution of an agent or workflow waits for, in one answer, with its child's own wait. */
export interface WaitReason extends OwnWait {
  readonly child?: OwnWait;
}

/** Lookups for waits, besides an actor's committed state. */
export interface WaitLookups {
  readonly client: Pick<ActorClient, 'isServed'>;
  /** Returns the unsettled ones of these effects of an actor. Absent: effects are listed without their attempts. */
  readonly effects?: (address: Address, ids: readonly string[]) => Promise<readonly EffectRow[]>;
  /** The pool that serves an actor. Default: `default`. */
  readonly poolOf?: (address: Address) => Promise<string>;
  /** What blocks a started effect outside of its node, as far as this node knows (runtime/effects/target-gates.ts). */
  readonly heldBy?: (effectId: string) => string | undefined;
}

/** The wait for a node with these tags (P1). Undefined when a live node may serve them. */
export async function nodeWait(client: WaitLookups['client'], tags: readonly string[]): Promise<OwnWait | undefined> {
  if (await client.isServed(poolOfTags(tags))) return undefined;
  const whom = tags.length === 0 ? 'a worker' : `a node with tags ${tags.join(', ')}`;
  return { kind: 'node', tags, reason: `waiting for ${whom}` };
}

/**
 * The reason that keeps an actor from its next turn, whatever its state waits for: a message that fails, or no node that serves
 * it.
 */
export async function turnWait(
  { client, poolOf }: WaitLookups,
  { stuck }: Pick<ActorSnapshot, 'stuck'>,
  address: Address,
): Promise<OwnWait | undefined> {
  if (stuck !== null) return { kind: 'turn', reason: `${stuck.messageType} keeps failing: ${stuck.error}` };
  return nodeWait(client, poolOf === undefined ? [] : tagsOfPool(await poolOf(address)));
}

/** The status of an actor's requested effects (id -> kind). */
export async function waitedEffects(
  { effects, heldBy }: WaitLookups,
  asked: ReadonlyMap<string, string>,
  address: Address,
): Promise<WaitedEffect[]> {
  if (asked.size === 0) return [];
  if (effects === undefined)
    return [...asked].map(([effect_id, kind]) => ({ effect_id, kind, status: 'open', attempt: 0 }));
  const rows = new Map((await effects(address, [...asked.keys()])).map((row) => [row.id, row]));
  return [...asked].map(([id, kind]) => {
    const waited = waitedEffect(id, kind, rows.get(id));
    const held_by = heldBy?.(id);
    return held_by === undefined ? waited : { ...waited, held_by };
  });
}

function waitedEffect(effect_id: string, kind: string, row: EffectRow | undefined): WaitedEffect {
  // An effect's record is removed with its result: a requested effect without a record was answered after the state was
  // read.
  if (row === undefined) return { effect_id, kind, status: 'answered', attempt: 0 };
  const { attempt } = row;
  const { lastError } = row;
  const failed = lastError === undefined ? {} : { last_error: withoutSecretsOf(lastError) };
  if (row.status === 'started') return { effect_id, kind, status: 'started', attempt, runner: row.runner, ...failed };
  if (attempt === 0) return { effect_id, kind, status: 'open', attempt };
  // An open effect with an attempt is between attempts; its record has the end of the pause.
  return { effect_id, kind, status: 'retrying', attempt, retry_at: new Date(row.until).toISOString(), ...failed };
}

/** Texts of errors come from outside and may hold a secret. */
export const withoutSecretsOf = ({ code, message }: EffectError): EffectError => ({
  code,
  message: withoutSecrets(message),
});

/**
 * Appends the progress of the one effect to the reason: ", attempt 2 begins at 2026-01-01T00:00:00.000Z; attempt 1
 * failed: model_unavailable: no answer".
 */
export function withProgress(reason: string, effects: readonly WaitedEffect[]): string {
  const [effect] = effects;
  if (effect === undefined || effects.length > 1) return reason;
  const { status, attempt, runner = '', retry_at = '', held_by, last_error } = effect;
  const failed = (number: number): string =>
    last_error === undefined ? '' : `; attempt ${number} failed: ${last_error.code}: ${last_error.message}`;
  switch (status) {
    case 'open':
      return `${reason}, which no node has begun`;
    case 'started': {
      const held = held_by === undefined ? '' : `: ${held_by}`;
      return `${reason}, attempt ${attempt} on node ${runner.split('/')[0]}${held}${failed(attempt - 1)}`;
    }
    case 'retrying':
      return `${reason}, attempt ${attempt + 1} begins at ${retry_at}${failed(attempt)}`;
    case 'answered':
      return `${reason}, which has answered`;
  }
}

/** The field that the states of both kinds share (runtime/identity.ts). */
const Owned = z.object({ owner: z.string().optional() });

/** Subject that owns an execution or a run. Undefined: it belongs to its tenant, or this id does not exist. */
export async function ownerOfRun(
  client: Pick<ActorClient, 'read'>,
  tenant: string,
  id: string,
): Promise<string | undefined> {
  for (const kind of ['workflow', 'execution']) {
    const snapshot = await client.read(addressOf(kind, tenant, id));
    if (snapshot !== null) return Owned.parse(snapshot.state).owner;
  }
  return undefined;
}

/** Fields of the states of both kinds while they run. An ended one keeps only its owner. */
const Started = z.object({ owner: z.string().optional(), identity: Identity.optional() });

/**
 * Whether a caller started an execution or a run. Undefined when that is unknown: it has ended, or this id does not
 * exist.
 */
export async function isStartedBy(
  client: Pick<ActorClient, 'read'>,
  { tenant, kind, subject }: Identity,
  id: string,
): Promise<boolean | undefined> {
  for (const area of ['workflow', 'execution']) {
    const snapshot = await client.read(addressOf(area, tenant, id));
    if (snapshot === null) continue;
    const { identity, owner } = Started.parse(snapshot.state);
    if (identity !== undefined) return identity.kind === kind && identity.subject === subject;
    return owner === undefined ? undefined : owner === subject;
  }
  return undefined;
}
