import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asCallOf } from '../../runtime/calls/calls-of-effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { CallingSpan } from '../../runtime/tracing/trace-context.ts';
import {
  type Action,
  type Authenticator,
  type Caller,
  type KeyGrant,
  requireRole,
  requireScope,
  requireVolumeRole,
  type ScopeArea,
} from '../../security/api.ts';
import type { Admission } from '../../usecases/starts/admission.ts';
import { traceOf, traceparentOf } from '../health.ts';
import type { KnownPaths } from './known-paths.ts';
import { isSafe, refuseForeignPages } from './local-guard.ts';
import type { ProblemStyle, ProblemTexts } from './problem.ts';

/** The right that a caller needs; `public` routes need no identity. */
type Access = Action | 'public';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; null on public routes. */
    identity: Identity | null;
    /** The grant of the call's API key; null when the call came without a key. */
    key: KeyGrant | null;
    /** W3C trace id of the call. */
    trace: string;
    /** The caller's span; null when the call names none. */
    callingSpan: CallingSpan | null;
  }
  interface FastifyContextConfig {
    access?: Access;
    /** The scope that a key needs. Absent: `access` in the area of the path; `any`: every key may call it. */
    scope?: { readonly area: ScopeArea; readonly action: Action } | 'any';
    /** True: also for consumers of a paid tier, who keep volumes in their own tenant. */
    forKeepers?: boolean | undefined;
    /** True: accepts bodies of every content type, including web forms, from callers that sign them. */
    takesForms?: boolean;
    problems?: ProblemStyle;
    texts?: ProblemTexts;
    /** It starts an execution: a start that failed is 500 with its text and code. */
    starts?: boolean;
  }
}

/** The caller of a route that is not public. */
export function callerOf(request: FastifyRequest): Identity {
  if (request.identity === null) throw new SvcError('internal', 'a public route asked for its caller');
  return request.identity;
}

/** The caller with the API key of the call. */
export const keyedCallerOf = (request: FastifyRequest): Caller =>
  request.key === null ? callerOf(request) : { ...callerOf(request), key: request.key };

interface ContextParts {
  readonly paths: KnownPaths;
  readonly admit?: Admit;
  /** Origins whose pages may call. */
  readonly origins: ReadonlySet<string>;
}

/**
 * Gives every request its trace and identity. Refuses a wrong path, a wrong method and a caller without the required
 * role.
 */
export function addRequestContext(
  app: FastifyInstance,
  authenticator: Authenticator,
  { paths, admit, origins }: ContextParts,
): void {
  app.decorateRequest('identity', null);
  app.decorateRequest('key', null);
  app.decorateRequest('trace', '');
  app.decorateRequest('callingSpan', null);
  app.addHook('onRequest', async (request, reply) => {
    const { traceparent, tracestate } = request.headers;
    const { trace, caller: callingSpan } = traceOf(traceparent, tracestate);
    request.trace = trace;
    request.callingSpan = callingSpan;
    reply.header('traceparent', traceparentOf(request.trace));
    const taken = request.routeOptions.url ?? '';
    if (request.is404 || (taken.includes(':') && paths.isWrittenOutWithout(request.method, request.url))) {
      // Checked here, because a handler runs only after the body was parsed.
      const { error, allow } = paths.refusalOf(request.method, request.url);
      if (allow !== undefined) reply.header('allow', allow);
      throw error;
    }
    admit?.(request, reply);
    const { access, takesForms = false } = request.routeOptions.config;
    const { method, headers } = request;
    if (!authenticator.required && (access !== 'public' || !isSafe(method))) {
      refuseForeignPages({ method, headers, allowed: origins, takesForms });
    }
    if (access === 'public') return;
    if (access === undefined) throw new SvcError('forbidden');
    await admitCaller(authenticator, request, access, (caller) => {
      // Set before the checks, so that the audit of a denial names the caller.
      const { key = null, ...identity } = caller;
      request.identity = identity;
      request.key = key;
    });
  });
  // Body parsing runs outside the context that the earlier hook set.
  app.addHook('preHandler', (request, _reply, done) => asCallOf(request.callingSpan, done));
}

async function admitCaller(
  authenticator: Authenticator,
  request: FastifyRequest,
  access: Action,
  onCaller: (caller: Caller) => void,
): Promise<void> {
  const caller = await authenticator.authenticate({
    authorization: request.headers.authorization,
    tenantHeader: single(request.headers['x-tenant-id']),
  });
  onCaller(caller);
  const { url = '', config } = request.routeOptions;
  const scope = config.scope ?? { area: areaOfPath(url, access), action: access };
  if (scope !== 'any') requireScope(caller, scope.area, scope.action);
  if (config.forKeepers === true) requireVolumeRole(caller);
  else requireRole(caller, access);
}

/** Checks once more, for an open stream, that its caller may call its route. Throws as the first check does. */
export async function admitAgain(authenticator: Authenticator, request: FastifyRequest): Promise<void> {
  const { access } = request.routeOptions.config;
  if (access === undefined || access === 'public') throw new SvcError('internal', 'a public route has no caller');
  await admitCaller(authenticator, request, access, () => {});
}

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(',') : header;

/** The area of each path for scopes of API keys. A path that is not listed needs the scope `*`. */
const AREAS: Readonly<Record<string, ScopeArea>> = {
  '/mcp': 'tools',
  '/v1/actors': 'executions',
  '/v1/admin/rate-limits': 'limits',
  '/v1/agents': 'agents',
  '/v1/api-keys': 'keys',
  '/v1/audit': 'audit',
  '/v1/chaos': 'cluster',
  '/v1/cluster': 'cluster',
  '/v1/cortex': 'patterns',
  '/v1/dead-letters': 'executions',
  '/v1/execute': 'executions',
  '/v1/executions': 'executions',
  '/v1/feed': 'executions',
  '/v1/human-approvals': 'approvals',
  '/v1/invoke': 'tools',
  '/v1/me': 'system',
  '/v1/runs': 'executions',
  '/v1/runtimes': 'system',
  '/v1/schemas': 'system',
  '/v1/seal': 'tools',
  '/v1/secrets': 'secrets',
  '/v1/stimuli': 'stimuli',
  '/v1/system': 'system',
  '/v1/tap': 'executions',
  '/v1/tools': 'tools',
  '/v1/messages': 'executions',
  '/v1/traces': 'executions',
  '/v1/user/rate-limits': 'limits',
  '/v1/volumes': 'volumes',
  '/v1/workflows': 'workflows',
  '/v1/workflows/executions': 'executions',
};

/** Routes that deploy agents and workflows although their access is `run` and not `write`. */
const GENERATES = new Set(['/v1/agents/generate', '/v1/workflows/generate']);

/** The area of a route, by its path template. A start of an agent or workflow needs a scope of executions. */
export function areaOfPath(template: string, action: Action): ScopeArea | undefined {
  const parts = template.split('/');
  for (let length = parts.length; length > 1; length -= 1) {
    const area = AREAS[parts.slice(0, length).join('/')];
    if (area === undefined) continue;
    const starts = (area === 'agents' || area === 'workflows') && action === 'run' && !GENERATES.has(template);
    return starts ? 'executions' : area;
  }
  return undefined;
}

/**
 * Routes that bring new work. All others are never refused: reads, health, cancels, answers to approvals, signals,
 * removals, and tool calls. Calls of tools that start a run are refused by the tool's name (usecases/caller-tools.ts,
 * usecases/seal).
 */
const NEW_WORK: ReadonlySet<string> = new Set([
  '/v1/agents',
  '/v1/agents/:id/execute',
  '/v1/agents/generate',
  '/v1/execute',
  '/v1/execute/intent',
  '/v1/executions',
  '/v1/runs/:id/fork',
  '/v1/stimuli',
  '/v1/webhooks/:source',
  '/v1/workflows',
  '/v1/workflows/:name/run',
  '/v1/workflows/generate',
]);

const begun = new WeakMap<FastifyRequest, () => void>();

/** Reports that the start of this request is durable, for requests whose answer comes much later. */
export const hasBegun = (request: FastifyRequest): void => begun.get(request)?.();

/** Admits a request or throws `overloaded`. */
export type Admit = (request: FastifyRequest, reply: FastifyReply) => void;

/** Refuses new work of an overloaded node before authentication, and counts each admitted start until its answer. */
export const admitStarts =
  (admission: Admission): Admit =>
  (request, reply) => {
    if (request.method !== 'POST' || !NEW_WORK.has(request.routeOptions.url ?? '')) return;
    const ended = admission.enter();
    begun.set(request, ended);
    // Also ends the count when the client disconnects before the answer.
    reply.raw.once('close', ended);
  };
