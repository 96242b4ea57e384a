import { LIMITS } from './limits.ts';
import type { Ancestor } from './start-request.ts';

export interface AncestryProblem {
  readonly reason: 'SubworkflowDepthExceeded' | 'SubworkflowCycleDetected';
  readonly message: string;
}

/**
 * Whether a workflow may run below these ancestors, outermost first (spec 3, Subworkflow rules; decided.md). Null: it
 * may. `workflowId` is absent while only the depth can be told. Whoever starts a child asks this before it does.
 */
export function ancestryProblem(
  ancestors: readonly Ancestor[],
  workflowId?: string,
  name?: string,
): AncestryProblem | null {
  const from = ancestors.findIndex((ancestor) => ancestor.workflow_id === workflowId);
  if (workflowId !== undefined && from !== -1) {
    const cycle = ancestors.slice(from).map((ancestor) => ancestor.name);
    const path = [...cycle, name ?? ancestors[from]?.name ?? workflowId].join(' -> ');
    return { reason: 'SubworkflowCycleDetected', message: `SubworkflowCycleDetected: ${path}` };
  }
  if (ancestors.length > LIMITS.childDepth) {
    const message = `SubworkflowDepthExceeded: depth ${ancestors.length}, at most ${LIMITS.childDepth}`;
    return { reason: 'SubworkflowDepthExceeded', message };
  }
  return null;
}

/** The problem an effect refused a start with: its message begins with the name, as `ancestryProblem` wrote it. */
export function ancestryReason(message: string): AncestryProblem['reason'] | null {
  if (message.startsWith('SubworkflowCycleDetected')) return 'SubworkflowCycleDetected';
  if (message.startsWith('SubworkflowDepthExceeded')) return 'SubworkflowDepthExceeded';
  return null;
}
