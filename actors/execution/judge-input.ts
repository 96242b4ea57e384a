import type { JsonObject } from '../../runtime/json.ts';
import { keepHead, keepTail } from './bounded-text.ts';
import { LIMITS } from './limits.ts';
import type { ModelCheck, PanelCheck } from './plan.ts';
import { renderTask } from './prompt.ts';
import { renderTemplate } from './prompt-template.ts';
import type { RunningExecution } from './state.ts';
import type { IterationResult } from './validators/verdict.ts';

const STDERR_CHARS = 4 * 1024;

/**
 * What a judge agent is asked: JSON with the fields of original-facts 6.2 that exist here. The output is never cut: a
 * judge who saw half of it would judge another one.
 */
export function judgeInput(running: RunningExecution, check: PanelCheck, result: IterationResult): string {
  const input: JsonObject = {
    task: keepHead(renderTask(running, running.iteration_count), LIMITS.judgeTaskChars),
    output: result.stdout,
    criteria: check.criteria,
    generation_evidence: {
      iteration_number: running.iteration_count,
      exit_code: result.exit_code,
      stderr: keepTail(result.stderr, STDERR_CHARS),
    },
    ...(running.tool_history.length === 0
      ? {}
      : { tool_audit_history: running.tool_history.map((call) => ({ ...call })) }),
    validation_context: check.type === 'semantic' ? 'semantic_judge_post_execution' : 'multi_judge_post_execution',
  };
  return JSON.stringify(input);
}

const DEFAULT_PROMPT = `Judge whether the output of an agent does what was asked of it.

What was asked:
{{criteria}}

Exit code: {{exit_code}}
{{#if stderr}}
Error output:
{{stderr}}
{{/if}}

Output:
{{output}}`;

const ANSWER = `Answer with one JSON object and nothing else:
{"score": 0.0 to 1.0, "confidence": 0.0 to 1.0, "reasoning": "what is good, and what must change"}`;

/**
 * What a model is asked as a judge: the manifest's prompt or the default one, and how to answer. The criteria of the
 * object form are the agent's instruction. Throws as `renderTemplate`.
 */
export function judgePrompt({ plan }: RunningExecution, { prompt }: ModelCheck, result: IterationResult): string {
  const variables = {
    criteria: plan.instruction,
    output: result.stdout,
    exit_code: result.exit_code ?? 'none',
    stderr: keepTail(result.stderr, STDERR_CHARS),
  };
  return `${renderTemplate(prompt ?? DEFAULT_PROMPT, variables, LIMITS.modelPromptBytes)}\n\n${ANSWER}`;
}
