import { type Metadata, type ServerInterceptingCallInterface, status } from '@grpc/grpc-js';
import { type SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import {
  type AuditedCall,
  type AuditedCaller,
  isDenied,
  type NodeIdentity,
  type OperationAudit,
} from '../../security/api.ts';
import { RECORDED_METHODS } from '../../usecases/audited-operations.ts';
import { ERROR_CODE_KEY, statusOf } from './status.ts';

/** A status as interceptors pass it. */
export type Ended = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

interface RecordParts {
  readonly operationAudit?: OperationAudit | undefined;
}

/** Who calls, by the metadata of the call, as soon as it is known: also of calls that are refused then. */
const callers = new WeakMap<Metadata, AuditedCaller>();

const targets = new WeakMap<Metadata, string>();

/** Names the caller, for the record of the call. */
export const callerIs = (metadata: Metadata, caller: AuditedCaller): void => void callers.set(metadata, caller);

/** Names the node that calls, for the record of the call. */
export function callerIsNode(metadata: Metadata, { nodeId, role }: Pick<NodeIdentity, 'nodeId' | 'role'>): void {
  callerIs(metadata, { kind: 'service_account', subject: `node:${nodeId}`, tenant: SYSTEM_TENANT, roles: [role] });
}

/** Names what a call changes, for the record of the call. */
export const targetIs = (metadata: Metadata, target: string): void => void targets.set(metadata, target);

/** One call of a method that changes something, from its admission to its status. */
export interface RecordedCall {
  /** Records the end. Resolves with the status for the client: another one when the entry could not be written. */
  end(ended: Ended, trace: string): Promise<Ended>;
}

/** What is known of a call when it arrives. */
export interface Arrived {
  readonly path: string;
  readonly trace: string;
  readonly peer: string;
  readonly metadata: Metadata;
}

/** Begins the record of an admitted call; null for methods without an entry. Throws `unavailable`. */
export async function recordCall(
  parts: RecordParts,
  identity: Identity | null,
  arrived: Arrived,
): Promise<RecordedCall | null> {
  const operation = RECORDED_METHODS[arrived.path];
  if (operation === undefined || parts.operationAudit === undefined) return null;
  const caller = identity ?? callers.get(arrived.metadata) ?? null;
  const begun = await parts.operationAudit.begin(callOf(operation, caller, arrived));
  return {
    async end(ended, trace) {
      const error = ended.code === status.OK ? null : errorOf(ended);
      try {
        await begun.end(
          error === null
            ? { outcome: 'ok', target: targets.get(arrived.metadata) ?? null }
            : { ...error, reason: null },
        );
        return ended;
      } catch (thrown) {
        return statusOf(toSvcError(thrown), trace);
      }
    },
  };
}

/** Records a call that was refused because of who sent it, before its message was read. */
export function recordDenial(parts: RecordParts, error: SvcError, arrived: Arrived): void {
  const { path, metadata } = arrived;
  if (!isDenied(error)) return;
  const operation = RECORDED_METHODS[path] ?? path.slice(path.lastIndexOf('/') + 1);
  parts.operationAudit?.denied(callOf(operation, callers.get(metadata) ?? null, arrived), error);
}

function callOf(operation: string, caller: AuditedCaller | null, { path, trace, peer }: Arrived): AuditedCall {
  const via = path.startsWith('/svc.cluster.') ? 'node' : 'grpc';
  return { operation, caller, target: null, trace, via, address: peer.slice(0, peer.lastIndexOf(':')) };
}

/** The code of the error table that a status carries. */
function errorOf({ code, metadata }: Ended): { readonly outcome: 'denied' | 'failed'; readonly error: string } {
  const [named] = metadata?.get(ERROR_CODE_KEY) ?? [];
  const isDenial = code === status.PERMISSION_DENIED || code === status.UNAUTHENTICATED;
  return { outcome: isDenial ? 'denied' : 'failed', error: named === undefined ? 'internal' : String(named) };
}
