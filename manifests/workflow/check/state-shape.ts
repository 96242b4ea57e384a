import type { StateOf, StateSpec } from '../schema.ts';
import { builtInCommand } from './built-in.ts';
import { ANY, list, map, PLAIN, type Shape } from './shape.ts';

const PROCESS = map({
  exit_code: PLAIN,
  stdout: PLAIN,
  stderr: PLAIN,
  duration_ms: PLAIN,
  stdout_truncated: PLAIN,
  stderr_truncated: PLAIN,
});

/** What stands under a state's name after it ran (spec 3, outputs of each kind). `error` is there when it failed. */
export function stateShape(state: StateSpec): Shape {
  const ended = { status: PLAIN, error: ANY };
  switch (state.kind) {
    case 'Agent':
      return map({ ...ended, output: ANY, score: PLAIN, confidence: PLAIN, iterations: PLAIN, execution_id: PLAIN });
    case 'System':
      return map({ ...ended, output: builtInCommand(state) === null ? PROCESS : ANY });
    case 'ContainerRun':
      return map({ ...ended, output: PROCESS });
    case 'ParallelContainerRun':
      return map({ ...ended, output: map(Object.fromEntries(state.steps.map(({ name }) => [name, PROCESS]))) });
    case 'Human':
      return map({ ...ended, output: ANY, feedback: PLAIN });
    case 'ParallelAgents':
      return map({ ...ended, output: ANY, ...panelShape(state) });
    case 'Subworkflow':
      return map({
        ...ended,
        output: ANY,
        child_execution_id: PLAIN,
        ...(state.mode === 'blocking' ? { result: ANY } : {}),
      });
  }
}

function panelShape({ agents }: StateOf<'ParallelAgents'>): Readonly<Record<string, Shape>> {
  return {
    consensus: map({ score: PLAIN, confidence: PLAIN, strategy: PLAIN, metadata: ANY, all_succeeded: PLAIN }),
    individual_results: list(
      map({ agent_id: PLAIN, score: PLAIN, confidence: PLAIN, reasoning: PLAIN }),
      agents.length,
    ),
    agents: list(map({ agent_id: PLAIN, output: ANY, weight: PLAIN }), agents.length),
  };
}
