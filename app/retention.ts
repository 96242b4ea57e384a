import type { Logger } from 'pino';
import { APPROVALS } from '../actors/approval/view.ts';
import { EXECUTIONS } from '../actors/execution/view.ts';
import { TOOL_SESSIONS } from '../actors/tool-session/view.ts';
import type { NodeRetention } from '../manifests/node/rate-limits.ts';
import { type Address, parseAddress } from '../runtime/address.ts';
import type { Collection, CollectionSpec, Condition, Documents, StoredDocument } from '../runtime/documents.ts';
import { Lazy } from '../runtime/kit/lazy.ts';
import { type RetentionRule, type RetentionRules, retentionPolicy } from '../runtime/retention/retention.ts';
import type { RetentionSettings } from '../runtime/runtime.ts';
import { START_KEYS } from '../usecases/starts/start-keys.ts';

type Rule = { readonly retention_ms?: number | undefined; readonly retention_bytes?: number | undefined };

const orNull = (value: number): number | null => (value === -1 ? null : value);

const ruleOf = ({ retention_ms, retention_bytes }: Rule): Partial<RetentionRule> => ({
  ...(retention_ms === undefined ? {} : { retentionMs: orNull(retention_ms) }),
  ...(retention_bytes === undefined ? {} : { retentionBytes: orNull(retention_bytes) }),
});

/** Translates `spec.retention` for the kernel. Logs one line for each sweep that removed something. */
export function retentionOf(parts: {
  readonly settings: NodeRetention;
  readonly documents: Documents;
  readonly logger: Logger;
}): RetentionSettings {
  const { settings, documents, logger } = parts;
  const { interval_secs, tenants, ...rules } = settings;
  const byThing = (all: Readonly<Record<string, Rule | undefined>>): Record<string, Partial<RetentionRule>> =>
    Object.fromEntries(
      Object.entries(all).flatMap(([thing, rule]) => (rule === undefined ? [] : [[thing, ruleOf(rule)]])),
    );
  const whole = byThing(rules);
  const without = { retentionMs: null, retentionBytes: null };
  const complete: RetentionRules = Object.fromEntries(
    Object.entries(whole).map(([thing, rule]) => [thing, { ...without, ...rule }]),
  );
  const own = new Map(Object.entries(tenants).map(([tenant, one]) => [tenant, byThing(one)]));
  const needed = dependents(documents);
  return {
    policy: retentionPolicy(complete, own),
    intervalMs: interval_secs * 1_000,
    neededOf: (tenant, addresses) => needed(tenant, addresses),
    forget: keysOf(documents),
    onSwept: (swept) =>
      logger.info({ event: 'retention_swept', ...swept }, 'retention removed data above its limits of age or size'),
  };
}

/** Deletes the Idempotency-Keys of removed runs, so that the keys are free again. */
function keysOf(documents: Documents): (tenant: string, addresses: readonly Address[]) => Promise<void> {
  const keys = new Lazy(() => documents.collection<StoredDocument>(START_KEYS));
  return async (tenant, addresses) => {
    const ids = addresses.map((address) => parseAddress(address).id);
    await (await keys.get()).deleteMany({ tenant, where: { execution_id: { in: ids } } });
  };
}

type Dependents = (tenant: string, addresses: readonly Address[]) => Promise<ReadonlySet<Address>>;

/** Finds ended runs on which something running depends: a child, a question to a human, a tool session. */
function dependents(documents: Documents): Dependents {
  const opened = (spec: CollectionSpec) => new Lazy(() => documents.collection<StoredDocument>(spec));
  const [executions, approvals, sessions] = [opened(EXECUTIONS), opened(APPROVALS), opened(TOOL_SESSIONS)];
  return async (tenant, addresses) => {
    const needed = new Set<Address>();
    /** Adds the runs of a kind that a document with `status` names in `field`. */
    const add = async (kind: string, all: Lazy<Collection<StoredDocument>>, field: string, status: Condition) => {
      const runs = new Map(
        addresses.flatMap((address) => (kindOf(address) === kind ? [[idOf(address), address]] : [])),
      );
      while (runs.size > 0) {
        const where = { [field]: { in: [...runs.keys()] }, status };
        const found = await (await all.get()).find({ tenant, where, limit: NAMED_AT_ONCE });
        for (const document of found) {
          const id = textOf(document, field);
          const address = runs.get(id);
          if (address !== undefined) needed.add(address);
          runs.delete(id);
        }
        if (found.length < NAMED_AT_ONCE) return;
      }
    };
    await Promise.all([
      add('execution', sessions, 'execution_id', 'active'),
      add('workflow', executions, 'workflow_execution_id', { in: ['pending', 'running'] }),
      add('workflow', approvals, 'execution_id', 'pending'),
    ]);
    return needed;
  };
}

/**
 * Most documents that one query reads. Several may name the same run, so the next query excludes the runs that were
 * found.
 */
const NAMED_AT_ONCE = 200;

const kindOf = (address: Address): string => parseAddress(address).kind;
const idOf = (address: Address): string => parseAddress(address).id;

function textOf(document: StoredDocument, field: string): string {
  const value: unknown = Object.entries(document).find(([name]) => name === field)?.[1];
  return typeof value === 'string' ? value : '';
}
