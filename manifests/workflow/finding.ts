import type { Problem } from '../schema-problems.ts';
import type { WorkflowManifest } from './schema.ts';

/** A finding of the manifest checker: an error refuses a deployment, a warning never does (W20). */
export interface Finding extends Problem {
  /** Stable id such as `unreachable_state`. */
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  /** The correct form. */
  readonly cure: string;
}

/** A reference to a deployed agent or workflow in a state. Templates are omitted: their value is known only in a run. */
interface NamedAt {
  readonly name: string;
  readonly path: readonly PropertyKey[];
}

/** Agents that a workflow starts, for the catalog to look up before it calls the checker. */
export function agentsNamedIn({ spec }: WorkflowManifest): readonly NamedAt[] {
  return Object.entries(spec.states).flatMap(([state, step]) => {
    const path = ['spec', 'states', state];
    if (step.kind === 'Agent') return literal(step.agent, [...path, 'agent']);
    if (step.kind !== 'ParallelAgents') return [];
    return step.agents.flatMap(({ agent }, index) => literal(agent, [...path, 'agents', index, 'agent']));
  });
}

/** Child workflows that a workflow starts. */
export function childrenNamedIn({ spec }: WorkflowManifest): readonly NamedAt[] {
  return Object.entries(spec.states).flatMap(([state, step]) =>
    step.kind === 'Subworkflow' ? literal(step.workflow_id, ['spec', 'states', state, 'workflow_id']) : [],
  );
}

const literal = (name: string, path: readonly PropertyKey[]): NamedAt[] =>
  name.includes('{{') ? [] : [{ name, path }];
