import type { Metadata } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import {
  type Action,
  type Authenticator,
  type Caller,
  requireRole,
  requireScope,
  type ScopeArea,
} from '../../security/api.ts';
import { isThisMachine } from '../rest/local-guard.ts';
import { callerIs } from './audit.ts';
import type { GrpcAuth } from './parts.ts';

const RUNTIME = '/svc.runtime.v1.SvcRuntime/';

/** The action of each method and its area for scopes of API keys. A method that is not listed is forbidden. */
const ACCESS: ReadonlyMap<string, readonly [Action, ScopeArea]> = new Map<string, readonly [Action, ScopeArea]>([
  [`${RUNTIME}ExecuteAgent`, ['run', 'executions']],
  [`${RUNTIME}ExecuteSystemCommand`, ['write', 'system']],
  [`${RUNTIME}ValidateWithJudges`, ['run', 'executions']],
  [`${RUNTIME}QueryMemoryPatterns`, ['read', 'patterns']],
  [`${RUNTIME}StoreMemoryPattern`, ['write', 'patterns']],
  [`${RUNTIME}AttestAgent`, ['run', 'tools']],
  [`${RUNTIME}InvokeTool`, ['run', 'tools']],
  [`${RUNTIME}IngestStimulus`, ['run', 'stimuli']],
]);

/** Methods of the standard services, on both ports. */
const PUBLIC: ReadonlySet<string> = new Set([
  '/grpc.health.v1.Health/Check',
  '/grpc.health.v1.Health/List',
  '/grpc.health.v1.Health/Watch',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
]);

/** Whether a method needs no identity. Every other method has an action that the caller must be allowed to do. */
export const isPublic = (path: string): boolean => PUBLIC.has(path);

/** The caller of a method that accepts calls without a token (G2). */
const WITHOUT_TOKEN: Identity = {
  kind: 'local',
  subject: 'without-token',
  tenant: SYSTEM_TENANT,
  roles: [],
  tier: 'enterprise',
};

/**
 * The identity of a call, or null for a public method. Checks a token whenever one is sent. Throws `unauthenticated`,
 * `forbidden`, and `unavailable` when the keys for the check cannot be loaded.
 */
export async function admit(
  path: string,
  { metadata, authority }: { readonly metadata: Metadata; readonly authority: string },
  parts: { readonly authenticator: Authenticator; readonly auth: GrpcAuth },
): Promise<Identity | null> {
  if (isPublic(path)) return null;
  const access = ACCESS.get(path);
  if (access === undefined) throw new SvcError('forbidden');
  const [action, area] = access;
  const caller = await identify(path, metadata, parts);
  callerIs(metadata, caller);
  const { identity } = requireScope(caller, area, action);
  if (identity.kind === 'local') refuseForeign(metadata, authority);
  requireRole(identity, action);
  return identity;
}

/**
 * Refuses web pages and calls by other host names. A call without a token acts as the operator, so a page in the
 * operator's browser could do the same (as in transport/rest).
 */
function refuseForeign(metadata: Metadata, authority: string): void {
  const name = URL.parse(`http://${authority}`)?.hostname;
  if (name === undefined || !isThisMachine(name)) {
    throw new SvcError('forbidden', ':authority: expected localhost, 127.0.0.0/8 or ::1, since the call has no token.');
  }
  if (single(metadata, 'origin') !== undefined) throw new SvcError('forbidden', 'origin: web pages may not call gRPC.');
}

async function identify(
  path: string,
  metadata: Metadata,
  { authenticator, auth }: { readonly authenticator: Authenticator; readonly auth: GrpcAuth },
): Promise<Caller> {
  const authorization = single(metadata, 'authorization');
  const tokenNeeded = auth.enabled && !auth.exempt_methods.includes(path);
  if (authorization === undefined && !tokenNeeded) return WITHOUT_TOKEN;
  return authenticator.authenticate({ authorization, tenantHeader: single(metadata, 'x-tenant-id') });
}

/** Joins the values of a repeated key, as HTTP does: a parser that expects one value then refuses them. */
export function single(metadata: Metadata, key: string): string | undefined {
  const values = metadata.get(key);
  return values.length === 0 ? undefined : values.join(',');
}
