import type { FastifyInstance, FastifyRequest } from 'fastify';
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
import { traceOf, traceparentOf } from '../trace.ts';
import type { Admit } from './admit-starts.ts';
import { areaOfPath } from './key-areas.ts';
import type { KnownPaths } from './known-paths.ts';
import { isSafe, refuseForeignPages } from './local-guard.ts';
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

export interface ContextParts {
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
