import type { CallOptions } from '../../runtime/client.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { ConsensusRule, Judge, PanelConcluded } from './messages.ts';

export interface ValidateRequest {
  /** UUID. The same again finds the same panel. */
  readonly panelId: string;
  readonly judges: readonly Judge[];
  readonly consensus: ConsensusRule;
  readonly identity: Identity;
}

/** Judge panels for callers (gRPC ValidateWithJudges, spec 1; svc.workflow.create with judges). */
export interface JudgePanelApi {
  /**
   * Convenes a panel and waits for its verdict. Throws `not_found` for an unknown judge, `cancelled`, and
   * `failed_precondition` when too few judges gave a verdict.
   */
  validate(request: ValidateRequest, options?: CallOptions): Promise<PanelConcluded>;
}
