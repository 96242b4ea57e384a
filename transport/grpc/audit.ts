import { type Deadline, type Metadata, type ServerInterceptingCallInterface, status } from '@grpc/grpc-js';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import {
  type AuditedCall,
  type AuditedCaller,
  type AuditedOperation,
  isDenied,
  type NodeIdentity,
  type OperationAudit,
} from '../../security/api.ts';
import { RECORDED_METHODS } from '../../usecases/audited-operations.ts';
import { ERROR_CODE_KEY, statusOf } from './status.ts';

/** A gRPC status in the form that interceptors pass on. */
export type Ended = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

interface RecordParts {
  readonly operationAudit?: OperationAudit | undefined;
}

/** The caller of each call, by its metadata. Set as soon as it is known, also for calls that are refused afterwards. */
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

/** The data of a call that is known when it arrives. */
interface Arrived {
  readonly path: string;
  readonly trace: string;
  readonly peer: string;
  readonly metadata: Metadata;
}

/** A timer may fire so much before the wall clock has reached its time: the library's timer of a deadline, too. */
const EARLY_MS = 2;

/**
 * The audit record of one call that changes something, from its admission to its end. Usually the method ends it by its
 * status. The record ends without the method when the library, a time-out or the client ends the call before the method
 * has the request, and when the client disconnects before the answer: the library then drops the answer and reports no
 * status.
 */
export class CallRecord {
  #begun: { readonly operation: AuditedOperation; readonly arrived: Arrived } | null = null;
  #isOver = false;
  #isWithMethod = false;
  #hasAnswer = false;
  #isGone = false;
  /** Why the call ends without its method. Null: the client cancelled it. */
  #why: SvcError | null = null;

  /** Begins the record of an admitted call; methods without an entry have none. Throws `unavailable`. */
  async begin({ operationAudit }: RecordParts, identity: Identity | null, arrived: Arrived): Promise<void> {
    const operation = RECORDED_METHODS[arrived.path];
    if (operation === undefined || operationAudit === undefined) return;
    const caller = identity ?? callers.get(arrived.metadata) ?? null;
    this.#begun = { operation: await operationAudit.begin(callOf(operation, caller, arrived)), arrived };
    if (this.#isGone) this.#endAlone(statusOf(this.#reason, arrived.trace));
  }

  /** Notes why the call ends without its method. Without this the client cancelled it. */
  endsBy(why: SvcError): void {
    this.#why = why;
  }

  /** Notes that the method has the whole request. */
  withMethod(): void {
    this.#isWithMethod = true;
  }

  /** Notes that the method has answered. */
  answered(): void {
    this.#hasAnswer = true;
    if (this.#isGone) this.#endAlone({ code: status.OK, details: '' });
  }

  /** Notes that the client has disconnected or its deadline has passed: it gets nothing more. */
  gone(deadline: Deadline): void {
    if (Number(deadline) - Date.now() <= EARLY_MS) this.#why = new SvcError('deadline_exceeded');
    this.#isGone = true;
    if (!this.#isWithMethod) this.#endAlone(statusOf(this.#reason, this.#begun?.arrived.trace ?? ''));
    else if (this.#hasAnswer) this.#endAlone({ code: status.OK, details: '' });
  }

  /**
   * Ends the record with the status of the method. `next` gets the status for the client, which differs when the entry could
   * not be written.
   */
  ended(given: Ended, next: (final: Ended) => void): void {
    if (this.#begun === null) next(given);
    else void this.#end(given).then(next);
  }

  get #reason(): SvcError {
    return this.#why ?? new SvcError('cancelled');
  }

  #endAlone(given: Ended): void {
    void this.#end(given);
  }

  async #end(given: Ended): Promise<Ended> {
    if (this.#begun === null || this.#isOver) return given;
    this.#isOver = true;
    const { operation, arrived } = this.#begun;
    const error = given.code === status.OK ? null : errorOf(given);
    try {
      await operation.end(
        error === null ? { outcome: 'ok', target: targets.get(arrived.metadata) ?? null } : { ...error, reason: null },
      );
      return given;
    } catch (thrown) {
      return statusOf(toSvcError(thrown), arrived.trace);
    }
  }
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
