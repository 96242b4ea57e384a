import { hash } from 'node:crypto';
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
 * Takes one call from the limits of who started the execution (`tool:NAME`) and from those of capability and manifest,
 * counted over all nodes. Throws `ToolFailure` `RateLimitExceeded`.
 */
export async function takeLimits(parts: LimitParts, tenant: string, { tool, subject, limits }: ToolRun): Promise<void> {
  const { rate_limits = [] } = limits;
  if (rate_limits.length > 0 && parts.rateLimits !== undefined) {
    const whose = digest(ownerOf(subject));
    const bounds = rate_limits.map(({ key, calls, per_seconds }) => ({
      key: `tool-capability:${whose}:${digest(key)}`,
      ...{ limit: calls, windowMs: per_seconds * 1_000 },
    }));
    const taken = await parts.rateLimits.take(tenant, bounds);
    if (!taken.taken) {
      const { limit, windowMs } = taken.broken;
      throw exceeded(`${tool}: ${limit} calls in ${windowMs / 1_000} s are allowed`, taken.retryAfterMs);
    }
  }
  try {
    await parts.tierLimits?.take({ ...subject.principal, tenant }, `tool:${tool}`);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'rate_limited') throw thrown;
    throw exceeded(thrown.message, thrown.retryAfterMs);
  }
}

/** An execution has all it may call under one name, a caller of /mcp is counted by who it is. */
const ownerOf = ({ execution_id, principal }: ToolRun['subject']): string =>
  execution_id ?? `${principal.kind}:${principal.subject}`;

/** Names may be of any length; keys are not. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 32);

function exceeded(what: string, retryAfterMs: number | undefined): ToolFailure {
  const after = retryAfterMs === undefined ? '' : ` It is possible again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
  const text = `${what}: no more is available now, do not retry at once.${after}`;
  const failure = new ToolFailure('RateLimitExceeded', text, 'policy');
  failure.retryAfterMs = retryAfterMs;
  return failure;
}
