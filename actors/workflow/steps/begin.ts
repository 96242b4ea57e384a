import type { StateSpec } from '../../../manifests/workflow/schema.ts';
import type { WorkflowTurn } from '../messages.ts';
import type { IdleWorkflow } from '../state.ts';
import { beginAgent } from './agent.ts';
import { beginContainerRun } from './container-run.ts';
import { beginHuman } from './human.ts';
import { beginParallelAgents } from './parallel-agents.ts';
import { beginParallelContainerRun } from './parallel-container-run.ts';
import type { Begun } from './step.ts';
import { beginSubworkflow } from './subworkflow.ts';
import { beginSystem } from './system.ts';

/** Asks for what the entered state needs. Throws a StepFailure or SvcError when it cannot be asked for. */
export function beginStep(run: IdleWorkflow, step: StateSpec, turn: WorkflowTurn): Begun {
  switch (step.kind) {
    case 'Agent':
      return beginAgent(run, step, turn);
    case 'System':
      return beginSystem(run, step, turn);
    case 'Human':
      return beginHuman(run, step, turn);
    case 'ParallelAgents':
      return beginParallelAgents(run, step, turn);
    case 'ContainerRun':
      return beginContainerRun(run, step, turn);
    case 'ParallelContainerRun':
      return beginParallelContainerRun(run, step, turn);
    case 'Subworkflow':
      return beginSubworkflow(run, step, turn);
  }
}
