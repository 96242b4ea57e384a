import type { AuditRecord } from '../manifests/audit/record.ts';
import type { ToolOutcome } from '../manifests/tool/call.ts';
import type { ToolOffer } from '../manifests/tool/scope.ts';
import type { CallOptions } from '../runtime/client.ts';
import type { Page, PageAsked } from '../runtime/documents/pages.ts';
import type { CollectionSpec, StoredDocument } from '../runtime/documents.ts';
import type { Identity, Viewer } from '../runtime/identity.ts';
import type { OpenSession } from '../actors/tool-session/messages.ts';
import type { Session, ToolSessionState } from '../actors/tool-session/state.ts';

/** One call of a tool through a session. */
export interface InvokeCall {
  /** JSON-RPC id as text with its type: `n:1`, `s:abc`; the same again is answered from the record. */
  readonly call: string;
  readonly tool: string | null;
  readonly arguments: unknown;
  /** Null: no envelope: a caller of /mcp or /v1/tools. */
  readonly envelopeHash: string | null;
  readonly payloadHash: string;
  /** The session ends with this call (sources `mcp` and `rest`). */
  readonly last?: boolean;
}

export type InvokeAnswer =
  | { readonly kind: 'outcome'; readonly outcome: ToolOutcome; readonly replayed: boolean }
  /** A denial reason of manifests/tool/decision.ts; `InvalidArguments` is 422 / -32602, the rest 403 / -32000. */
  | { readonly kind: 'denied'; readonly reason: string; readonly message: string; readonly retryAfterMs?: number }
  /** 403: the session is closed, revoked, or was never opened. */
  | { readonly kind: 'inactive'; readonly message: string }
  /** 400 / -32600: the same id with another payload, or no tool name. */
  | { readonly kind: 'invalid_request'; readonly message: string };

export interface SessionSummary {
  readonly session_id: string;
  readonly execution_id: string | null;
  readonly agent_id: string | null;
  readonly source: 'seal' | 'inner_loop' | 'mcp' | 'rest';
  readonly status: 'active' | 'closed' | 'revoked';
  readonly calls: number;
  readonly denied: number;
  readonly opened_at: string;
}

/** Sessions in which agents and callers use tools; each is an actor with an audit chain. */
export interface ToolSessionApi {
  /** Opens a session. Repeating it is harmless. */
  open(tenant: string, session: OpenSession, options?: CallOptions): Promise<void>;
  /**
   * One call, from its decision to its result. The wait ends with `signal`, the call does not: the same id asks for its
   * result again. Throws `unavailable`, `deadline_exceeded`, `cancelled` with `signal`, and what kept the tool from running:
   * a code of the error table, else `tool_failed`.
   */
  invoke(tenant: string, sessionId: string, call: InvokeCall, options?: CallOptions): Promise<InvokeAnswer>;
  /** Records an envelope that was refused before its sender was certain; never throws for an unknown session. */
  refuse(
    tenant: string,
    sessionId: string,
    refusal: { readonly envelopeHash: string; readonly reason: string },
  ): Promise<void>;
  /** What the session may call, as pinned. Throws `not_found`, `failed_precondition` when it is closed. */
  tools(tenant: string, sessionId: string): Promise<readonly ToolOffer[]>;
  /** Nothing more may be called in it. Throws `not_found`. */
  revoke(identity: Identity, sessionId: string): Promise<void>;
  /** The whole chain, live or from the archive. Throws `not_found`. */
  audit(viewer: Viewer, sessionId: string): Promise<readonly AuditRecord[]>;
  /** Sessions of an execution, newest first. */
  list(viewer: Viewer, filter: PageAsked & { readonly executionId?: string }): Promise<Page<SessionSummary>>;
  /** One session, from its own committed state. Throws `not_found`. */
  get(viewer: Viewer, sessionId: string): Promise<SessionSummary>;
}

/** Where the lists of sessions come from (R2). */
export const TOOL_SESSIONS: CollectionSpec = {
  name: 'tool_sessions',
  unique: [],
  indexes: [['execution_id', 'opened_at'], ['opened_at']],
  beside: ['owner'],
};

/** One session in lists. */
export interface ToolSessionDocument extends StoredDocument {
  readonly execution_id: string | null;
  readonly agent_id: string | null;
  readonly source: 'seal' | 'inner_loop' | 'mcp' | 'rest';
  readonly status: 'active' | 'closed' | 'revoked';
  readonly calls: number;
  readonly denied: number;
  readonly opened_at: string;
  /** Subject that alone sees it, beside operators; absent: it is the tenant's. */
  readonly owner?: string;
}

/** Whose a session is: of an execution that is a user's own, that user's. */
export const ownerOf = ({ subject: { principal } }: Session): { readonly owner?: string } =>
  principal.confidential === true ? { owner: principal.subject } : {};

export function projectToolSession(
  { status, session, counts }: ToolSessionState,
  self: { readonly tenant: string; readonly id: string },
): Omit<ToolSessionDocument, 'version'> | null {
  if (session === null || status === 'new') return null;
  return {
    tenant: self.tenant,
    id: self.id,
    execution_id: session.subject.execution_id,
    agent_id: session.subject.agent_id,
    source: session.source,
    status,
    calls: counts.calls,
    denied: counts.denied,
    opened_at: session.opened_at,
    ...ownerOf(session),
  };
}
