import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { derivedUuid, type Random, systemRandom } from '../../runtime/random.ts';
import type { ExecutionApi } from '../executions.ts';
import { hashInTurns } from '../large-values.ts';
import type { Presence } from '../runs/run-calls.ts';
import type { WorkflowApi } from '../workflow-runs.ts';

const NAMESPACE = 'svc/execution/idempotency-key';
const KEY_NAMESPACE = 'svc/start-key';
/** After this long, ms, an id without an execution means that its start never happened. */
const NEVER_STARTED_MS = 24 * 60 * 60_000;
/** Most attempts to bind a key. An attempt fails only when another call with the same key was written first. */
const TRIES = 8;

/** Value of the `Idempotency-Key` header: 1 to 255 visible ASCII characters. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .describe(
    'The same key of the same caller with the same body starts one execution, however often the call is repeated; with ' +
      'another body it is refused. It is free again once that execution was removed.',
  );

/** A caller's key. `what` separates the keys of different calls; it is empty for starts of agents. */
export interface StartKey {
  readonly identity: Identity;
  readonly what: '' | 'workflow' | 'intent' | 'generate agent' | 'generate workflow' | 'fork' | 'fork workflow';
  readonly key: string;
}

/** Maps callers' idempotency keys to the ids of what they start. */
export interface StartKeys {
  /** The id that this key names now. Null: the key names none, or what it named was removed. */
  find(key: StartKey): Promise<string | null>;
  /**
   * The id to start under: always the same for a key and body, until what was started is removed. Throws `conflict`
   * when the key names something that another body started. The binding is durable when this resolves, so a repeat
   * after a crash finds the same id.
   */
  idFor(key: StartKey, body: unknown): Promise<string>;
}

/** The binding of a key. `id` is a hash of caller, kind of start and key: the key itself is not stored. */
interface BoundKey extends StoredDocument {
  readonly execution_id: string;
  /** Hash of the body that the key first came with. */
  readonly body_hash: string;
  /** Unix ms. */
  readonly bound_at: number;
}

export const START_KEYS: CollectionSpec = { name: 'start_keys', unique: [['execution_id']], indexes: [['bound_at']] };

/**
 * The id that a tenant and key always give, or a random id without a key. Keys had these ids before they belonged to
 * one caller: the first start under a key still takes it, so that a repeat of an older start, or one on an older node,
 * finds it.
 */
export function executionIdFor(tenant: string, key: string | undefined): string {
  if (key === undefined) return systemRandom.uuid();
  return derivedUuid(NAMESPACE, tenant, key);
}

/** The id to start under, with or without a key. */
export async function startIdFor(
  keys: StartKeys | undefined,
  { key, ...caller }: Omit<StartKey, 'key'> & { readonly key: string | undefined },
  body: unknown,
): Promise<string> {
  if (key === undefined || keys === undefined)
    return executionIdFor(caller.identity.tenant, plainKey(caller.what, key));
  return keys.idFor({ ...caller, key }, body);
}

/** The prefix separates the keys of other calls from those of agents: no key contains a space. */
const plainKey = <K extends string | undefined>(what: StartKey['what'], key: K): string | K =>
  key === undefined || what === '' ? key : `${what} ${key}`;

export async function openStartKeys(parts: {
  readonly documents: Documents;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly executions: Pick<ExecutionApi, 'presence'>;
  readonly workflows: Pick<WorkflowApi, 'presence'>;
  /** Whether the caller started what exists under an id of its tenant; undefined when that is no longer known. */
  readonly startedBy: (caller: Identity, id: string) => Promise<boolean | undefined>;
}): Promise<StartKeys> {
  const keys = await parts.documents.collection<BoundKey>(START_KEYS);
  return {
    async find(key) {
      const bound = await keys.get(key.identity.tenant, documentId(key));
      return bound === null || (await isFree(parts, key, bound)) ? null : bound.execution_id;
    },
    async idFor(key, body) {
      const hash = await hashInTurns(body);
      for (let tries = 0; tries < TRIES; tries += 1) {
        const id = await tryBinding(parts, keys, key, hash);
        if (id !== null) return id;
      }
      throw new SvcError('unavailable', 'too many calls use this key at the same time; repeat the call', {
        retryAfterMs: 1_000,
      });
    },
  };
}

type Binding = Omit<Parameters<typeof openStartKeys>[0], 'documents'>;

/** Returns the id, or null when another call bound the key at the same time. */
async function tryBinding(
  parts: Binding,
  keys: Collection<BoundKey>,
  key: StartKey,
  body_hash: string,
): Promise<string | null> {
  const { random, clock } = parts;
  const { tenant } = key.identity;
  const id = documentId(key);
  const bound = await keys.get(tenant, id);
  const bind = (execution_id: string, version: number): BoundKey => ({
    tenant,
    id,
    version,
    execution_id,
    body_hash,
    bound_at: clock.now(),
  });
  if (bound === null) {
    const first = executionIdFor(tenant, plainKey(key.what, key.key));
    if ((await mayTake(parts, key, first)) && (await keys.insert(bind(first, 1)))) return first;
    // The first id belongs to another caller, was removed, or was bound at the same time.
    const fresh = random.uuid();
    return (await keys.insert(bind(fresh, 1))) ? fresh : null;
  }
  if (await isFree(parts, key, bound)) {
    const fresh = random.uuid();
    return (await keys.replace(bind(fresh, bound.version + 1), bound.version)) ? fresh : null;
  }
  if (bound.body_hash === body_hash) return bound.execution_id;
  throw new SvcError('conflict', 'this key was used for a start with another body: use a new key', {
    field: 'idempotency-key',
  });
}

/**
 * Whether a caller's first start under a key may take the id from before keys belonged to one caller. A run under this
 * id must be the caller's own. The starter of an ended run is unknown, so it is accepted only where there is a single
 * caller.
 */
async function mayTake(parts: Binding, key: StartKey, first: string): Promise<boolean> {
  const now = await presence(parts, key, first);
  if (now !== 'there') return now === 'unknown';
  return (await parts.startedBy(key.identity, first)) ?? key.identity.kind === 'local';
}

async function isFree(parts: Binding, key: StartKey, { execution_id, bound_at }: BoundKey): Promise<boolean> {
  const now = await presence(parts, key, execution_id);
  return now === 'removed' || (now === 'unknown' && parts.clock.now() - bound_at > NEVER_STARTED_MS);
}

const WORKFLOW_STARTS: ReadonlySet<StartKey['what']> = new Set(['workflow', 'intent', 'fork workflow']);

function presence({ executions, workflows }: Binding, { identity, what }: StartKey, id: string): Promise<Presence> {
  const area = WORKFLOW_STARTS.has(what) ? workflows : executions;
  return area.presence(identity.tenant, id);
}

const documentId = ({ identity, what, key }: StartKey): string =>
  derivedUuid(KEY_NAMESPACE, identity.kind, identity.subject, what, key);
