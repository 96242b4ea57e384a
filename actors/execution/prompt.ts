import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { historySection, previousError } from './history.ts';
import { LIMITS } from './limits.ts';
import { hintsSection } from './memory/ask.ts';
import { renderTemplate } from './prompt-template.ts';
import type { IdleExecution } from './state.ts';

/** Variables that the node sets; a caller's variable of the same name is ignored (W22). */
const RESERVED_VARIABLES = [
  'instruction',
  'input',
  'iteration_number',
  'previous_error',
  'agentskills',
  'context',
] as const;

/**
 * The prompt of an iteration: the manifest's template, or instruction, context and input, each when present. After a failure
 * the history of attempts follows, unless the template uses `previous_error`; the learned patterns come last.
 */
export function renderPrompt(execution: IdleExecution, iteration: number): string {
  const { plan, attempts } = execution;
  const maxBytes = maxPromptBytes(execution);
  const base = renderTask(execution, iteration);
  const bytes = Buffer.byteLength(base);
  if (bytes > maxBytes) {
    throw new SvcError('payload_too_large', `the prompt has ${bytes} bytes, at most ${maxBytes} can be given`, {
      field: 'input',
    });
  }
  if (base === '' && plan.program === null) {
    throw new SvcError('invalid_argument', 'there is nothing to ask the model: give an instruction or an input', {
      field: 'input',
    });
  }
  const speaksItself = plan.prompt_template?.includes('previous_error') ?? false;
  const hints = hintsSection(execution.hints ?? [], Math.floor((maxBytes - bytes - 4) / 3));
  const left = maxBytes - bytes - Buffer.byteLength(hints) - 4;
  const room = Math.min(LIMITS.historyChars, Math.floor(left / 3));
  const history = speaksItself ? '' : historySection(attempts, execution.last_output, room);
  return [base, history, hints].filter((part) => part !== '').join('\n\n');
}

/** The task without the history of attempts. Throws as `renderTemplate`. */
export function renderTask(execution: IdleExecution, iteration: number): string {
  const { plan, input } = execution;
  if (plan.prompt_template === null) {
    return [plan.instruction, contextOf(execution), input].filter((part) => part !== '').join('\n\n');
  }
  return renderTemplate(plan.prompt_template, variablesOf(execution, iteration), maxPromptBytes(execution));
}

const contextOf = ({ plan, context_text }: IdleExecution): string => context_text ?? plan.context;

const maxPromptBytes = ({ plan }: IdleExecution): number =>
  plan.program === null ? LIMITS.modelPromptBytes : LIMITS.programPromptBytes;

/**
 * Template variables of a caller's context: its members, overridden by those of `context_overrides`. The keys that link a child
 * to its parent are omitted.
 */
export function callerVariables(context: JsonObject): JsonObject {
  const { context_overrides: overrides, execution_id: _execution, agent_id: _agent, ...members } = context;
  const isMap = overrides !== undefined && overrides !== null && typeof overrides === 'object';
  return isMap && !Array.isArray(overrides) ? { ...members, ...overrides } : members;
}

function variablesOf(execution: IdleExecution, iteration: number): JsonObject {
  const { plan } = execution;
  const reserved: Record<(typeof RESERVED_VARIABLES)[number], JsonObject[string]> = {
    instruction: plan.instruction,
    input: execution.input,
    iteration_number: iteration,
    previous_error: previousError(execution.attempts),
    agentskills: plan.agentskills,
    context: contextOf(execution),
  };
  return { ...execution.variables, ...reserved };
}
