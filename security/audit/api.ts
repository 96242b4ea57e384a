import type { EntryRecord, OperationEntry } from '../../manifests/audit/entries.ts';
import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import { type SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';

/** Who called, as far as it is known. */
export type AuditedCaller = Pick<Identity, 'kind' | 'subject' | 'tenant' | 'roles'>;

/** A call that changes something, or that was denied. */
export interface AuditedCall {
  readonly operation: string;
  /** Null: the caller was not identified. */
  readonly caller: AuditedCaller | null;
  readonly target: string | null;
  /** W3C trace id. */
  readonly trace: string;
  readonly via: OperationEntry['via'];
  /** Address of the client's connection. It is recorded for denials only. */
  readonly address: string | null;
}

/** How an audited operation ended. */
export type AuditedEnd =
  | { readonly outcome: 'ok'; readonly target?: string | null }
  | { readonly outcome: 'denied' | 'failed'; readonly error: string; readonly reason: string | null };

export interface AuditedOperation {
  /**
   * Records the end. With `fail_closed` it resolves when the entry is durable and throws `unavailable` when it cannot be
   * written; without, it resolves at once.
   */
  end(end: AuditedEnd): Promise<void>;
}

/** The audit of what operators and tenants do. Transports call it for each operation that changes something. */
export interface OperationAudit {
  /**
   * Called before the operation runs. With `fail_closed` it writes the entry `begun` and throws `unavailable` when that
   * fails, so that nothing runs without an entry.
   */
  begin(call: AuditedCall): Promise<AuditedOperation>;
  /** Records a call that was refused before it ran. Never throws; repeated denials are counted. */
  denied(call: AuditedCall, error: SvcError): void;
}

/** An event in a tenant that is no call of an operation, such as a file operation of a run. */
export interface Occurrence {
  readonly tenant: string;
  readonly operation: string;
  /** The run that it belongs to. */
  readonly subject: string | null;
  readonly target: string;
  readonly outcome: 'ok' | 'denied' | 'failed';
  /** Code of the error table. */
  readonly error: string | null;
}

export const isDenied = ({ code }: SvcError): boolean => code === 'forbidden' || code === 'unauthenticated';

/** The end of an operation that threw this error. */
export function endOf(error: SvcError): AuditedEnd {
  const isDenial = isDenied(error);
  return {
    outcome: isDenial ? 'denied' : 'failed',
    error: error.code,
    // Other texts may contain input of the caller.
    reason: error.reason ?? (isDenial ? error.message : null),
  };
}

/**
 * Runs an operation with its entries. Errors of the operation are recorded and thrown again. `endOf` reads the end from
 * an answer that may say that nothing was done, or names what was changed.
 */
export async function audited<T>(
  audit: OperationAudit,
  call: AuditedCall,
  run: () => Promise<T>,
  of: { readonly endOf: (answer: T) => AuditedEnd },
): Promise<T> {
  const operation = await audit.begin(call);
  let answer: T;
  try {
    answer = await run();
  } catch (thrown) {
    await operation.end(endOf(toSvcError(thrown)));
    throw thrown;
  }
  await operation.end(of.endOf(answer));
  return answer;
}

/** Conditions of a list of entries. */
export interface EntryFilter {
  readonly subject?: string | undefined;
  readonly operation?: string | undefined;
  readonly outcome?: OperationEntry['outcome'] | undefined;
  /** ISO times: from (inclusive) and to (exclusive). */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface ListedEntry extends Omit<OperationEntry, 'kind'> {
  readonly node: string;
  readonly sequence: number;
  readonly at: string;
}

/** One chain of a tenant, with the signed statements about it. */
export interface ChainView {
  readonly node: string;
  readonly first: number;
  readonly last: number;
  readonly checkpoint: string | null;
}

/** Reads a tenant's audit. */
export interface AuditReader {
  /** Newest first. A page of a list with conditions may hold less than its limit although more follow. */
  list(tenant: string, filter: EntryFilter, page: PageAsked): Promise<Page<ListedEntry>>;
  /** The chains of all nodes, and compact JWS of statements about them: those of each node, and one made now. */
  chains(tenant: string): Promise<{ readonly chains: readonly ChainView[]; readonly statements: readonly string[] }>;
  /** Records of one chain behind `after`, in order, at most 1,000. */
  records(tenant: string, node: string, after: number, limit: number): Promise<readonly EntryRecord[]>;
}
