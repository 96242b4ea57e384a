import type { Json, JsonObject } from '../../runtime/json.ts';
import { own } from './json-field.ts';
import type { IdleWorkflow } from './state.ts';

/**
 * What templates and expressions of the current state see (spec 3, Template variables). A state that was entered is
 * seen under its name; the fixed names win over a state called like one of them.
 */
export function scopeOf(run: IdleWorkflow): JsonObject {
  const { metadata } = run.manifest;
  const states: [string, Json][] = [];
  for (const name of Object.keys(run.visits)) {
    const output = own(run.blackboard, name);
    if (output !== undefined) states.push([name, output]);
  }
  return {
    ...Object.fromEntries(states),
    ...(run.intent === null ? {} : { intent: run.intent }),
    input: run.input,
    workflow: {
      name: metadata.name,
      version: metadata.version,
      context: run.context,
      storage: { workspace: run.storage.workspace, shared_volumes: run.storage.shared },
    },
    blackboard: run.blackboard,
    state: { feedback: run.feedback },
    human: run.human_feedback === null ? {} : { feedback: run.human_feedback },
    execution: { id: run.execution_id },
  };
}
