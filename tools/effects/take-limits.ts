import type { ToolRun } from '../../manifests/tool/call.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { RateLimits } from '../../runtime/rate-limits.ts';
import type { TierLimits } from '../../security/api.ts';
import { ToolFailure } from '../failure.ts';

export interface LimitParts {
  readonly tierLimits?: TierLimits;
  readonly rateLimits?: RateLimits;
}

/**
 * Takes one call from the limits of who started the execution (`tool:NAME`) and from the capability's own, counted over
 * all nodes. Throws `ToolFailure` `RateLimitExceeded`.
 */
export async function takeLimits(parts: LimitParts, tenant: string, { tool, subject, limits }: ToolRun): Promise<void> {
  const { rate_limit } = limits;
  if (rate_limit !== undefined && parts.rateLimits !== undefined) {
    const { key, calls, per_seconds } = rate_limit;
    // An execution has all it may call under one name, a caller of /mcp is counted by who it is.
    const whose = subject.execution_id ?? `${subject.principal.kind}:${subject.principal.subject}`;
    const bound = { key: `tool-capability:${whose}:${key}`.slice(0, 512), limit: calls, windowMs: per_seconds * 1_000 };
    const taken = await parts.rateLimits.take(tenant, [bound]);
    if (!taken.taken) throw exceeded(`${tool}: ${calls} calls in ${per_seconds} s are allowed`, taken.retryAfterMs);
  }
  try {
    await parts.tierLimits?.take({ ...subject.principal, tenant }, `tool:${tool}`);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'rate_limited') throw thrown;
    throw exceeded(thrown.message, thrown.retryAfterMs);
  }
}

function exceeded(what: string, retryAfterMs: number | undefined): ToolFailure {
  const after = retryAfterMs === undefined ? '' : ` It is possible again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
  const text = `${what}: no more is available now, do not retry at once.${after}`;
  const failure = new ToolFailure('RateLimitExceeded', text, 'policy');
  failure.retryAfterMs = retryAfterMs;
  return failure;
}
