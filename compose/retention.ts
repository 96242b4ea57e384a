import type { Logger } from 'pino';
import { APPROVALS } from '../actors/approval/view.ts';
import { EXECUTIONS } from '../actors/execution/view.ts';
import { TOOL_SESSIONS } from '../actors/tool-session/view.ts';
import type { NodeRetention } from '../manifests/node/retention.ts';
import { type Address, parseAddress } from '../runtime/address.ts';
import type { Collection, CollectionSpec, Documents, Query, StoredDocument } from '../runtime/documents.ts';
import { FirstUse } from '../runtime/first-use.ts';
import { type RetentionRule, type RetentionRules, retentionPolicy } from '../runtime/retention/policy.ts';
import type { RetentionSettings } from '../runtime/runtime.ts';
import { START_KEYS } from '../transport/idempotency.ts';

type Rule = { readonly retention_ms?: number | undefined; readonly retention_bytes?: number | undefined };

const orNull = (value: number): number | null => (value === -1 ? null : value);

const ruleOf = ({ retention_ms, retention_bytes }: Rule): Partial<RetentionRule> => ({
  ...(retention_ms === undefined ? {} : { retentionMs: orNull(retention_ms) }),
  ...(retention_bytes === undefined ? {} : { retentionBytes: orNull(retention_bytes) }),
});

/** `spec.retention` as the kernel takes it. One line is logged for each sweep that removed something. */
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
    isNeeded: (address) => needed(address),
    forget: keysOf(documents),
    onSwept: (swept) =>
      logger.info({ event: 'retention_swept', ...swept }, 'retention removed what was too old or too much'),
  };
}

/** The Idempotency-Keys of a run that was removed are free. */
function keysOf(documents: Documents): (address: Address) => Promise<void> {
  const keys = new FirstUse(() => documents.collection<StoredDocument>(START_KEYS));
  return async (address) => {
    const { tenant, id } = parseAddress(address);
    await (await keys.get()).deleteMany({ tenant, where: { execution_id: id } });
  };
}

/** Whether something that still runs belongs to an ended run: a child, a question to a human, a session of tools. */
function dependents(documents: Documents): (address: Address) => Promise<boolean> {
  const opened = (spec: CollectionSpec) => new FirstUse(() => documents.collection<StoredDocument>(spec));
  const [executions, approvals, sessions] = [opened(EXECUTIONS), opened(APPROVALS), opened(TOOL_SESSIONS)];
  const some = async (all: { get(): Promise<Collection<StoredDocument>> }, query: Query): Promise<boolean> =>
    (await (await all.get()).find({ ...query, limit: 1 })).length > 0;
  return async (address) => {
    const { kind, tenant, id } = parseAddress(address);
    if (kind === 'execution') return some(sessions, { tenant, where: { execution_id: id, status: 'active' } });
    if (kind !== 'workflow') return false;
    const under = { workflow_execution_id: id, status: { in: ['pending', 'running'] } };
    if (await some(executions, { tenant, where: under })) return true;
    return some(approvals, { tenant, where: { execution_id: id, status: 'pending' } });
  };
}
