import type { CallOptions } from '../runtime/client.ts';
import type { Identity } from '../runtime/identity.ts';
import type { ConsensusRule, Judge, PanelConcluded } from '../actors/judge-panel/messages.ts';

export type { ConsensusRule, Judge, PanelConcluded };

export interface ValidateRequest {
  /** UUID. The same again finds the same panel. */
  readonly panelId: string;
  readonly judges: readonly Judge[];
  readonly consensus: ConsensusRule;
  readonly identity: Identity;
}

export interface ValidateOptions extends CallOptions {
  /** Told when the panel is durably convened. */
  readonly onBegun?: () => void;
}

/** Judge panels for callers (gRPC ValidateWithJudges, G9; svc.workflow.create with judges). */
export interface JudgePanelApi {
  /**
   * Convenes a panel and waits for its verdict, whatever node it is on. When the signal ends first the panel is cancelled,
   * with its judges, and `cancelled` is thrown. Throws `not_found` naming a judge that is not deployed, `cancelled` when
   * somebody else cancelled it, `failed_precondition` when too few judges gave a verdict: the text says which and why.
   */
  validate(request: ValidateRequest, options?: ValidateOptions): Promise<PanelConcluded>;
}
