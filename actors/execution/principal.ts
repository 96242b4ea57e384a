import type { ToolSubject } from '../../manifests/tool/call.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { IdleExecution } from './state.ts';

/** Whose limits count: the one who started the execution. A start without an identity is the kernel's own. */
export function principalOf({ identity }: IdleExecution): ToolSubject['principal'] {
  if (identity === undefined) return { kind: 'actor', subject: 'execution', roles: [], tier: 'free' };
  const { kind, subject, roles, tier, confidential, tenants } = identity;
  return {
    ...{ kind, subject, roles: [...roles], tier },
    ...(confidential === true ? { confidential } : {}),
    ...(tenants === undefined ? {} : { tenants: [...tenants] }),
  };
}

/** `principal` of `model.generate`'s input: absent, nobody is counted. */
export function principalPart({ identity }: IdleExecution): JsonObject {
  if (identity === undefined) return {};
  const { kind, subject, tier } = identity;
  return { principal: { kind, subject, tier } };
}
