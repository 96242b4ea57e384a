import type { CostMeter } from '../costs.ts';
import type { LoadPlan, Measured } from '../load.ts';

/** A started peer: its server, its worker, its client, each a process of its own. */
export interface WorkflowPeer {
  /** Keeps the plan's number of workflows in flight, each started and awaited. Rejects when one ended badly. */
  measure(plan: LoadPlan): Promise<Measured>;
  /** What its processes use; of the product on Redis only. */
  readonly meter?: CostMeter;
  /** Ends all its processes by pid and removes its data. */
  stop(): Promise<void>;
}
