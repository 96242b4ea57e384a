import { hash } from 'node:crypto';
import { type ToolOutcome, ToolRun } from '../../manifests/tool/call.ts';
import { textContent } from '../../manifests/tool/contract.ts';
import { GrantRequest, ToolGrant } from '../../manifests/tool/scope.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import type { CallWord, TargetGates } from '../../runtime/effects/target-gates.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { RateLimits } from '../../runtime/rate-limits.ts';
import type { TierLimits } from '../../security/api.ts';
import type { ToolGranter } from '../../usecases/ports/tool-granter.ts';
import { type McpParts, runMcpTool } from '../mcp/run.ts';
import {
  boundedOutcome,
  failedOutcome,
  type Tool,
  type ToolAnswer,
  type ToolCall,
  ToolFailure,
  type WholeOutcome,
} from '../tool.ts';
import type { NodeTools } from '../tool-granter.ts';
import { webFetch, webSearch } from '../web/tools.ts';

export interface ToolEffectParts {
  readonly granter: Pick<NodeTools, 'offer'>;
  /** Handlers of built-in tools that this node runs, see `createBuiltInTools`. */
  readonly tools: readonly Tool[];
  readonly blobs: Blobs;
  readonly mcp?: McpParts;
  /** Absent: tiers bound nothing. */
  readonly tierLimits?: TierLimits;
  /** Absent: rate limits of capabilities are not enforced; a node has them always. */
  readonly rateLimits?: RateLimits;
  /** Absent: a server or host that hangs keeps the places of its calls. */
  readonly gates?: TargetGates;
}

const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;

/**
 * `tool.call`: one call that policy allowed. Value: `ToolOutcome`, also of a tool that failed or was refused by a limit; the
 * effect fails only when this node cannot know the result. The request's mode is the offer's.
 */
export function createToolEffect(parts: ToolEffectParts): EffectHandler<typeof ToolRun> {
  const tools = new Map(parts.tools.map((tool) => [tool.contract.name, tool]));
  return defineEffect({
    kind: 'tool.call',
    input: ToolRun,
    lasting: true,
    async run(run, context): Promise<ToolOutcome> {
      const started = performance.now();
      const whole = await attempt(parts, tools, run, context);
      const maxBytes = run.limits.max_response_bytes ?? MAX_RESPONSE_BYTES;
      const { tenant, address: owner } = context;
      // The tool has acted: what it answered is kept until it can be stored.
      const outcome = await context.patiently(() =>
        boundedOutcome(whole, { tenant, owner, blobs: parts.blobs, maxBytes }),
      );
      return { ...outcome, duration_ms: Math.round(performance.now() - started) };
    },
  });
}

async function attempt(
  parts: ToolEffectParts,
  tools: ReadonlyMap<string, Tool>,
  run: ToolRun,
  context: EffectContext,
): Promise<WholeOutcome> {
  const { tenant, signal } = context;
  try {
    signal.throwIfAborted();
    await checkUnchanged(parts.granter, run);
    await context.patiently(() => takeLimits(parts, tenant, run));
    const tool = tools.get(run.tool);
    const call: ToolCall = {
      ...{ run, tenant, signal, id: context.effectId, trace: context.trace },
      ...(context.timeoutMs === undefined ? {} : { timeoutMs: context.timeoutMs }),
      ...(context.askedAgoMs === undefined ? {} : { askedAgoMs: context.askedAgoMs }),
      progress: (value) => context.progress(value),
      parked: (waiting) => context.parked(waiting),
    };
    // One call, however often it waits until it can begin: limits count it once. `atMostOnce` lets nothing through that
    // may have acted.
    const begun = () => answer(parts, tool, call);
    const begin = () => (tool === undefined ? begun() : context.patiently(begun));
    const target = targetOf(run, tool);
    if (parts.gates === undefined || target === null) return await begin();
    return await parts.gates.through(target, context, { call: begin, wordOf });
  } catch (thrown) {
    // Cancelled, out of time or without its claim: what was being done is nobody's result.
    if (signal.aborted) throw signal.reason;
    if (thrown instanceof ToolFailure) return failedOutcome(thrown);
    throw toSvcError(thrown);
  }
}

/** What is called outside of the node, and may hang there. */
function targetOf({ tool: name, server, arguments: given }: ToolRun, tool: Tool | undefined): string | null {
  if (tool === undefined) return server === undefined ? null : `MCP server "${server}"`;
  if (name === webFetch.name && typeof given.url === 'string') return `web host ${URL.parse(given.url)?.host ?? ''}`;
  return name === webSearch.name ? 'the provider of web searches' : null;
}

const wordOf = (thrown: unknown): CallWord => {
  if (thrown instanceof ToolFailure) return thrown.code === 'TimedOut' ? 'failed' : 'alive';
  return thrown instanceof SvcError && thrown.code === 'deadline_exceeded' ? 'failed' : 'unknown';
};

async function answer(parts: ToolEffectParts, tool: Tool | undefined, call: ToolCall): Promise<WholeOutcome> {
  if (tool !== undefined) {
    const { text, structured } = await atMostOnce(tool, call);
    return { content: textContent(text), ...(structured === undefined ? {} : { structured }), is_error: false };
  }
  if (parts.mcp !== undefined && call.run.server !== undefined) return runMcpTool(parts.mcp, call);
  throw new ToolFailure('ToolNotAvailable', `${call.run.tool} cannot be run on this node: use another tool`);
}

/**
 * What failed on the way would be tried again. A tool that must not be repeated may have acted already, so its caller is
 * told instead (E2).
 */
async function atMostOnce(tool: Tool, call: ToolCall): Promise<ToolAnswer> {
  try {
    return await tool.run(call.run.arguments, call);
  } catch (thrown) {
    const { name, mode } = tool.contract;
    if (mode === 'repeatable' || !(thrown instanceof SvcError) || thrown.row.kind !== 'retry') throw thrown;
    if (thrown.notBegun) throw thrown;
    const text = `${name}: ${thrown.message}; it may have been done: look before you do it again`;
    throw new ToolFailure('ToolFailed', text, 'recoverable', thrown);
  }
}

/** A tool that is not what it was when the grant was made is not called. */
async function checkUnchanged(granter: Pick<NodeTools, 'offer'>, { tool, schema_hash }: ToolRun): Promise<void> {
  const offer = await granter.offer(tool);
  if (offer === null) {
    throw new ToolFailure('ToolNotAvailable', `${tool} is not there now: go on without it, or try again later`);
  }
  if (offer.schema_hash === schema_hash) return;
  throw ToolFailure.denied('ToolChanged', `${tool} is not what it was when it was offered.`);
}

/**
 * `tools.grant`, repeatable: what an execution may call, pinned. Value: `ToolGrant`. Fails with `forbidden`, `not_found`
 * for its security context.
 */
export function createGrantEffect(granter: ToolGranter): EffectHandler<typeof GrantRequest> {
  return defineEffect({
    kind: 'tools.grant',
    input: GrantRequest,
    run: async (request, { tenant }) => ToolGrant.parse(await granter.grant(tenant, request)),
  });
}

interface LimitParts {
  readonly tierLimits?: TierLimits;
  readonly rateLimits?: RateLimits;
}

/**
 * Takes one call from the limits of who started the execution (`tool:NAME`) and from those of capability and manifest,
 * counted over all nodes. Throws `ToolFailure` `RateLimitExceeded`.
 */
async function takeLimits(parts: LimitParts, tenant: string, { tool, subject, limits }: ToolRun): Promise<void> {
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
