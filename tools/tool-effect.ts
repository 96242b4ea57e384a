import { hash } from 'node:crypto';
import { type ToolOutcome, ToolRun } from '../manifests/tool/call.ts';
import { textContent } from '../manifests/tool/contract.ts';
import { GrantRequest, ToolGrant } from '../manifests/tool/scope.ts';
import type { Blobs } from '../runtime/blobs.ts';
import { asSpan } from '../runtime/calls/calls-of-effect.ts';
import { defineEffect, type EffectContext, type EffectHandler, HandlerWaits } from '../runtime/effect.ts';
import type { TargetGates, TargetHealth } from '../runtime/effects/target-gates.ts';
import { SvcError, toSvcError } from '../runtime/errors.ts';
import { counted } from '../runtime/kit/counted.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import type { SpanAttributes } from '../runtime/tracing/spans.ts';
import type { TierLimits } from '../security/api.ts';
import type { McpServers } from '../usecases/ports/mcp-servers.ts';
import type { ToolGranter } from '../usecases/ports/tool-granter.ts';
import {
  boundedOutcome,
  failedOutcome,
  type Tool,
  type ToolAnswer,
  type ToolCall,
  ToolFailure,
  type WholeOutcome,
} from './tool.ts';
import type { NodeTools } from './tool-granter.ts';
import { webFetch, webSearch } from './web/tools.ts';

export interface ToolEffectParts {
  readonly granter: Pick<NodeTools, 'offer'>;
  /** Handlers of the built-in tools of this node, see `createBuiltInTools`. */
  readonly tools: readonly Tool[];
  readonly blobs: Blobs;
  readonly mcp?: McpParts;
  /** Absent: tier limits are not enforced. */
  readonly tierLimits?: TierLimits;
  /** Absent in tests: rate limits of capabilities are not enforced. */
  readonly rateLimits?: RateLimits;
  /** Absent in tests: calls of a server or host that hangs keep their concurrency slots. */
  readonly gates?: TargetGates;
}

const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;

/**
 * The effect `tool.call`: makes one call that policy has allowed. Its value is a `ToolOutcome`, also for a tool that
 * failed or hit a limit; the effect fails only when the result cannot be known. The request has the mode of the offer.
 */
export function createToolEffect(parts: ToolEffectParts): EffectHandler<typeof ToolRun> {
  const tools = new Map(parts.tools.map((tool) => [tool.contract.name, tool]));
  return defineEffect({
    kind: 'tool.call',
    input: ToolRun,
    lasting: true,
    async run(run, context): Promise<ToolOutcome> {
      const { startedAtMs } = context.resumed ?? { startedAtMs: Date.now() };
      const whole = await attempt(parts, tools, run, context);
      const maxBytes = run.limits.max_response_bytes ?? MAX_RESPONSE_BYTES;
      const { tenant, address: owner } = context;
      // The tool has acted, so its result is kept in memory until it can be stored.
      const outcome = await context.retryWhileUnavailable(() =>
        boundedOutcome(whole, { tenant, owner, blobs: parts.blobs, maxBytes }),
      );
      return { ...outcome, duration_ms: Math.max(0, Date.now() - startedAtMs) };
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
    // A call that continues after its wait was admitted before.
    if (context.resumed === undefined) {
      await checkUnchanged(parts.granter, run);
      await context.retryWhileUnavailable(() => takeLimits(parts, tenant, run));
    }
    const tool = tools.get(run.tool);
    const call: ToolCall = {
      run,
      tenant,
      signal,
      id: context.effectId,
      trace: context.trace,
      timeoutMs: context.timeoutMs,
      askedAgoMs: context.askedAgoMs,
      progress: (value) => context.progress(value),
      parked: (waiting) => context.parked(waiting),
      waitedFor: (wait) => context.waitedFor(wait),
      resumed: context.resumed,
    };
    // A retry until the call can begin is counted once by the limits above. `atMostOnce` stops retries of a call that
    // may have acted.
    const begun = () =>
      asSpan({ ...toolSpan(run), ...context.resumed }, (add) => answered(answer(parts, tool, call), add));
    const begin = () => (tool === undefined ? begun() : context.retryWhileUnavailable(begun));
    const target = targetOf(run, tool);
    if (parts.gates === undefined || target === null) return await begin();
    return await parts.gates.through(target, context, { call: begin, healthOf });
  } catch (thrown) {
    // The call was cancelled, timed out or lost its claim: no one uses the result.
    if (signal.aborted) throw signal.reason;
    if (thrown instanceof HandlerWaits) throw thrown;
    if (thrown instanceof ToolFailure) return failedOutcome(thrown);
    throw toSvcError(thrown);
  }
}

/** The span of a call of a tool (GenAI semantic conventions). */
const toolSpan = ({ tool, server }: ToolRun): Parameters<typeof asSpan>[0] => ({
  name: `execute_tool ${tool}`,
  kind: server === undefined ? 'internal' : 'client',
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    ...(server === undefined ? {} : { 'svc.mcp.server': server, 'mcp.method.name': 'tools/call' }),
  },
  errorType: (thrown) => (thrown instanceof ToolFailure ? thrown.code : toSvcError(thrown).code),
});

/** A tool of an MCP server reports its failure in the result. */
async function answered(
  answer: Promise<WholeOutcome>,
  add: (attributes: SpanAttributes) => void,
): Promise<WholeOutcome> {
  const outcome = await answer;
  if (outcome.error !== undefined) add({ 'error.type': outcome.error.code });
  return outcome;
}

/** The external system that a call depends on and that may hang. */
function targetOf({ tool: name, server, arguments: given }: ToolRun, tool: Tool | undefined): string | null {
  if (tool === undefined) return server === undefined ? null : `MCP server "${server}"`;
  if (name === webFetch.name && typeof given.url === 'string') return `web host ${URL.parse(given.url)?.host ?? ''}`;
  return name === webSearch.name ? 'the provider of web searches' : null;
}

const healthOf = (thrown: unknown): TargetHealth => {
  if (thrown instanceof ToolFailure) return thrown.code === 'TimedOut' ? 'failed' : 'alive';
  return thrown instanceof SvcError && thrown.code === 'deadline_exceeded' ? 'failed' : 'unknown';
};

async function answer(parts: ToolEffectParts, tool: Tool | undefined, call: ToolCall): Promise<WholeOutcome> {
  if (tool !== undefined) {
    const { text, structured } = await atMostOnce(tool, call);
    return { content: textContent(text), ...(structured === undefined ? {} : { structured }), is_error: false };
  }
  if (parts.mcp !== undefined && call.run.server !== undefined) return runMcpTool(parts.mcp, call);
  throw new ToolFailure('ToolNotAvailable', `this node cannot run ${call.run.tool}: use another tool`);
}

/**
 * Turns a retryable error of a tool that must not be repeated into a result, since the tool may have acted already
 * (E2).
 */
async function atMostOnce(tool: Tool, call: ToolCall): Promise<ToolAnswer> {
  try {
    return await tool.run(call.run.arguments, call);
  } catch (thrown) {
    const { name, mode } = tool.contract;
    if (mode === 'repeatable' || !(thrown instanceof SvcError) || thrown.row.kind !== 'retry') throw thrown;
    if (thrown.notBegun) throw thrown;
    const text = `${name}: ${thrown.message}; it may have been executed: check before you repeat it`;
    throw new ToolFailure('ToolFailed', text, 'recoverable', thrown);
  }
}

/** Throws when the tool was removed or has changed since the grant. */
async function checkUnchanged(granter: Pick<NodeTools, 'offer'>, { tool, schema_hash }: ToolRun): Promise<void> {
  const offer = await granter.offer(tool);
  if (offer === null) {
    throw new ToolFailure('ToolNotAvailable', `${tool} is not available now: continue without it, or try again later`);
  }
  if (offer.schema_hash === schema_hash) return;
  throw ToolFailure.denied('ToolChanged', `${tool} has changed since it was offered.`);
}

/**
 * The effect `tools.grant` (repeatable): its value is the `ToolGrant` of an execution. Fails with `forbidden` or `not_found`
 * for its security context.
 */
export function createGrantEffect(granter: ToolGranter): EffectHandler<typeof GrantRequest> {
  return defineEffect({
    kind: 'tools.grant',
    input: GrantRequest,
    run: async (request, { tenant }) => ToolGrant.parse(await granter.grant(tenant, request)),
  });
}

/**
 * Counts one call against the limits of capability and manifest and against the tier of the principal (`tool:NAME`), over
 * all nodes. Throws `ToolFailure` `RateLimitExceeded`.
 */
async function takeLimits(parts: ToolEffectParts, tenant: string, { tool, subject, limits }: ToolRun): Promise<void> {
  const { rate_limits = [] } = limits;
  if (rate_limits.length > 0 && parts.rateLimits !== undefined) {
    const whose = digest(ownerOf(subject));
    const bounds = rate_limits.map(({ key, calls, per_seconds }) => ({
      key: `tool-capability:${whose}:${digest(key)}`,
      limit: calls,
      windowMs: per_seconds * 1_000,
    }));
    const taken = await parts.rateLimits.take(tenant, bounds);
    if (!taken.taken) {
      const { limit, windowMs } = taken.broken;
      throw exceeded(`${tool}: at most ${counted(limit, 'call')} in ${windowMs / 1_000} s`, taken.retryAfterMs);
    }
  }
  try {
    await parts.tierLimits?.take({ ...subject.principal, tenant }, `tool:${tool}`);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'rate_limited') throw thrown;
    throw exceeded(thrown.message, thrown.retryAfterMs);
  }
}

/** The limits count by owner of the call: the execution, or the principal for callers of /mcp. */
const ownerOf = ({ execution_id, principal }: ToolRun['subject']): string =>
  execution_id ?? `${principal.kind}:${principal.subject}`;

/** Shortens a name by hashing it, since keys have a maximum length. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 32);

function exceeded(what: string, retryAfterMs: number | undefined): ToolFailure {
  const after = retryAfterMs === undefined ? '' : ` It is possible again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
  const text = `${what}: the limit is used up, do not retry at once.${after}`;
  const failure = new ToolFailure('RateLimitExceeded', text, 'policy');
  failure.retryAfterMs = retryAfterMs;
  return failure;
}

interface McpParts {
  readonly servers: Pick<McpServers, 'call'>;
  /** `spec.mcp_servers[].tool_timeout_seconds` of a server; default 60 s. */
  readonly timeoutMs?: (server: string) => number;
}

const TIMEOUT_MS = 60_000;

/**
 * Calls a tool of an MCP server once. When the server fails or is slow it may have received the call, so the model
 * decides about a retry.
 */
async function runMcpTool(parts: McpParts, { run, signal, progress }: ToolCall): Promise<WholeOutcome> {
  const server = run.server ?? '';
  const tool = run.tool.slice(server.length + 1);
  const timeoutMs = parts.timeoutMs?.(server) ?? TIMEOUT_MS;
  const reports: Promise<unknown>[] = [];
  const onProgress = (text: string): void => {
    // Lost progress does not change the result.
    reports.push(progress({ text: text.slice(0, 2_000) }).catch(() => false));
  };
  try {
    const result = await parts.servers.call(
      { server, tool, arguments: run.arguments, timeoutMs },
      { signal, onProgress },
    );
    await Promise.all(reports);
    const { content, structured, isError } = result;
    return {
      content: [...content],
      ...(structured === undefined ? {} : { structured }),
      is_error: isError,
      ...(isError ? { error: { code: 'ToolFailed', class: 'recoverable', message: firstText(content) } } : {}),
    };
  } catch (thrown) {
    throw signal.aborted ? thrown : serverFailure(thrown, run.tool);
  }
}

const firstText = (content: readonly Record<string, unknown>[]): string => {
  const text = content.find((part) => typeof part.text === 'string')?.text;
  return typeof text === 'string' ? text.slice(0, 2_000) : 'the tool reports an error';
};

function serverFailure(thrown: unknown, tool: string): unknown {
  if (!(thrown instanceof SvcError)) return thrown;
  switch (thrown.code) {
    case 'not_found':
      return recoverable('ToolNotAvailable', `${tool} is not available now: use another tool`, thrown);
    case 'unavailable':
      return recoverable('ToolNotAvailable', `${tool}: ${thrown.message}; the call may have been executed`, thrown);
    case 'deadline_exceeded':
      return recoverable('TimedOut', `${tool} did not answer in time; the call may have been executed`, thrown);
    default:
      return recoverable('ToolFailed', `${tool}: ${thrown.message}`, thrown);
  }
}

const recoverable = (
  code: 'ToolNotAvailable' | 'TimedOut' | 'ToolFailed',
  text: string,
  cause: SvcError,
): ToolFailure => new ToolFailure(code, text, 'recoverable', cause);
