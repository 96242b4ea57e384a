import type { JsonObject } from '../../../runtime/json.ts';
import { writeBlackboard } from '../blackboard.ts';
import { jsonBytes } from '../json-field.ts';
import { LIMITS } from '../limits.ts';
import type { WorkflowTurn } from '../messages.ts';
import type { IdleWorkflow } from '../state.ts';
import { type Begun, StepFailure, succeeded } from './step.ts';

const BUILTIN = ['update_context', 'update_blackboard', 'finalize'] as const;
export type Builtin = (typeof BUILTIN)[number];

/** Which built-in a System state names; its text as written, so nothing rendered can become one (decided.md). */
export const builtinOf = (command: string): Builtin | undefined => BUILTIN.find((name) => name === command.trim());

/** Runs inside the turn, without a shell: `env`, rendered, is what it writes. */
export function runBuiltin(run: IdleWorkflow, builtin: Builtin, env: JsonObject, turn: WorkflowTurn): Begun {
  const done = succeeded({ output: { stdout: '', stderr: '', exit_code: 0 } });
  switch (builtin) {
    case 'update_context':
      return { kind: 'ended', run: withContext(run, env), result: done };
    case 'update_blackboard':
      return { kind: 'ended', run: writeBlackboard(run, env, turn), result: done };
    case 'finalize':
      return { kind: 'ended', run, result: { ...succeeded({ output: env }), final: true } };
  }
}

function withContext(run: IdleWorkflow, env: JsonObject): IdleWorkflow {
  const context = { ...run.context, ...env };
  const bytes = jsonBytes(context);
  if (bytes <= LIMITS.contextBytes) return { ...run, context };
  throw new StepFailure('context_full', `the context would have ${bytes} bytes, the limit is ${LIMITS.contextBytes}`);
}
