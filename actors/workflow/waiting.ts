/** What an unfinished execution waits for, in one call. `reason` is for people. */
export interface WaitReason {
  readonly kind: 'node' | 'timer' | 'approval' | 'child' | 'judges' | 'effect' | 'volumes' | 'turn';
  readonly reason: string;
  readonly state_name?: string;
  readonly tags?: readonly string[];
  readonly approval_id?: string;
  readonly child_execution_ids?: readonly string[];
  readonly effects?: readonly {
    readonly effect_id: string;
    readonly kind: string;
    /** `open`: no runner has it; `started`: attempt `attempt` runs on `runner`; `retrying` until `retry_at`. */
    readonly status: 'open' | 'started' | 'retrying';
    readonly attempt: number;
    readonly runner?: string;
    readonly retry_at?: string;
  }[];
  /** When a timer of its own ends the wait: retry pause or state time-out. */
  readonly until?: string;
}
