import type { CallOptions } from '../../runtime/client.ts';
import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Viewer } from '../../runtime/viewer.ts';

/** Spec 2, Human approval request. */
export interface ApprovalRequest {
  readonly id: string;
  readonly execution_id: string;
  readonly prompt: string;
  /** ISO 8601. */
  readonly created_at: string;
  /** 0: it waits without end. */
  readonly timeout_seconds: number;
}

export interface ApprovalAnswer {
  readonly payload: string;
  readonly feedback: string | null;
  readonly by: string | null;
}

/** Human approvals of a tenant (spec 2, Human approvals). */
export interface ApprovalApi {
  /** Pending ones, oldest first. */
  list(viewer: Viewer, page?: PageAsked): Promise<Page<ApprovalRequest> & { readonly total: number }>;
  /** Null when it is unknown, not the viewer's to see, expired, withdrawn or answered. */
  get(viewer: Viewer, approvalId: string): Promise<ApprovalRequest | null>;
  /**
   * Resolves when the answer is committed: one wins. Throws `conflict` when it was answered or expired before, `not_found`.
   */
  answer(identity: Identity, approvalId: string, answer: ApprovalAnswer, options?: CallOptions): Promise<void>;
}
