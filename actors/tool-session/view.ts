import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { Session, ToolSessionState } from './state.ts';
/** Collection behind the lists of sessions (R2). */
export const TOOL_SESSIONS: CollectionSpec = {
  name: 'tool_sessions',
  unique: [],
  indexes: [['execution_id', 'opened_at'], ['opened_at']],
  beside: ['owner'],
  searched: ['status'],
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
  /** The only subject, besides operators, that sees it; absent: every caller of the tenant does. */
  readonly owner?: string;
}

/** Owner of a session: that of its execution, if a user owns it. */
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
