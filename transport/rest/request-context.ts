import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import {
  type Action,
  type Authenticator,
  type Caller,
  type KeyGrant,
  requireRole,
  requireScope,
  type ScopeArea,
} from '../../security/api.ts';
import type { Admission } from '../../usecases/starts/admission.ts';
import { traceOf, traceparentOf } from '../health.ts';
import { isSafe, refuseForeignPages } from './local-guard.ts';
import type { KnownPaths } from './openapi-document.ts';
import type { ProblemStyle, ProblemTexts } from './problem.ts';

/** `public` needs no identity; everything else names what the caller must be allowed to do. */
export type Access = Action | 'public';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null on public routes. */
    identity: Identity | null;
    /** What the API key allows by which the call came; null: it came without one. */
    key: KeyGrant | null;
    /** W3C trace id of the call. */
    trace: string;
  }
  interface FastifyContextConfig {
    access?: Access;
    /** What a key's scopes are compared with, where it is not `access` in the area of the path. */
    scope?: { readonly area: ScopeArea; readonly action: Action };
    /** Takes bodies of every content type, web forms' among them, from callers that sign them. */
    takesForms?: boolean;
    problems?: ProblemStyle;
    texts?: ProblemTexts;
  }
}

/** The identity of a route that is not public. */
export function callerOf(request: FastifyRequest): Identity {
  if (request.identity === null) throw new SvcError('internal', 'a public route asked who calls');
  return request.identity;
}

/** The same with the key by which the call came. */
export const keyedCallerOf = (request: FastifyRequest): Caller =>
  request.key === null ? callerOf(request) : { ...callerOf(request), key: request.key };

interface ContextParts {
  readonly paths: KnownPaths;
  readonly admit?: Admit;
  /** Whose pages may call. */
  readonly origins: ReadonlySet<string>;
}

/** Gives every request its trace and identity, and refuses it here when its path, method or role is wrong. */
export function addRequestContext(
  app: FastifyInstance,
  authenticator: Authenticator,
  { paths, admit, origins }: ContextParts,
): void {
  app.decorateRequest('identity', null);
  app.decorateRequest('key', null);
  app.decorateRequest('trace', '');
  app.addHook('onRequest', async (request, reply) => {
    request.trace = traceOf(request.headers.traceparent);
    reply.header('traceparent', traceparentOf(request.trace));
    const taken = request.routeOptions.url ?? '';
    if (request.is404 || (taken.includes(':') && paths.isWrittenOutWithout(request.method, request.url))) {
      // Here and not in a handler, which would first want to understand the body.
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
    const caller = await authenticator.authenticate({
      authorization: request.headers.authorization,
      tenantHeader: single(request.headers['x-tenant-id']),
    });
    const { url = '', config } = request.routeOptions;
    const scope = config.scope ?? { area: areaOfPath(url, access), action: access };
    const { identity, key } = requireScope(caller, scope.area, scope.action);
    request.identity = identity;
    request.key = key;
    requireRole(identity, access);
  });
}

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(',') : header;

/** What the routes below a path are about, for scopes of API keys. A path that is not here is reached by `*` alone. */
const AREAS: Readonly<Record<string, ScopeArea>> = {
  '/mcp': 'tools',
  '/v1/admin/rate-limits': 'limits',
  '/v1/agents': 'agents',
  '/v1/api-keys': 'keys',
  '/v1/chaos': 'cluster',
  '/v1/cluster': 'cluster',
  '/v1/cortex': 'patterns',
  '/v1/execute': 'executions',
  '/v1/executions': 'executions',
  '/v1/human-approvals': 'approvals',
  '/v1/invoke': 'tools',
  '/v1/runtimes': 'system',
  '/v1/schemas': 'system',
  '/v1/seal': 'tools',
  '/v1/secrets': 'secrets',
  '/v1/stimuli': 'stimuli',
  '/v1/system': 'system',
  '/v1/tools': 'tools',
  '/v1/user/rate-limits': 'limits',
  '/v1/volumes': 'volumes',
  '/v1/workflows': 'workflows',
  '/v1/workflows/executions': 'executions',
};

/** Routes that put agents and workflows there, though they are `run` and not `write`. */
const GENERATES = new Set(['/v1/agents/generate', '/v1/workflows/generate']);

/** The area of a route, by its template. Whoever starts an agent or a workflow needs a scope of executions. */
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
 * What brings new work. Everything else is taken always: reads, health, cancels, answers to approvals, signals, removals,
 * and calls of tools, of which those that start a run are refused by their name (transport/caller-tools, transport/seal).
 */
const NEW_WORK: ReadonlySet<string> = new Set([
  '/v1/agents',
  '/v1/agents/:id/execute',
  '/v1/agents/generate',
  '/v1/execute',
  '/v1/execute/intent',
  '/v1/executions',
  '/v1/stimuli',
  '/v1/webhooks/:source',
  '/v1/workflows',
  '/v1/workflows/:name/run',
  '/v1/workflows/generate',
]);

const begun = new WeakMap<FastifyRequest, () => void>();

/** Says that what a request starts is durable, where its answer waits for more than that. */
export const hasBegun = (request: FastifyRequest): void => begun.get(request)?.();

/** Whether a request may come in; throws `overloaded`. */
export type Admit = (request: FastifyRequest, reply: FastifyReply) => void;

/** Refuses new work of an overloaded node before it is known who asks, and counts what is under way until its answer. */
export const admitStarts =
  (admission: Admission): Admit =>
  (request, reply) => {
    if (request.method !== 'POST' || !NEW_WORK.has(request.routeOptions.url ?? '')) return;
    const ended = admission.enter();
    begun.set(request, ended);
    // Also when the client has gone before it is answered.
    reply.raw.once('close', ended);
  };
