import { keepHead } from '../bounded-text.ts';
import { LIMITS } from '../limits.ts';
import { needsJudge, type ResultCheck, type ResultValidator } from '../plan.ts';
import type { Verdict } from '../state.ts';
import { checkExitCode, checkStderrEmpty } from './exit-code.ts';
import { checkJson } from './json-schema.ts';
import { checkFormat } from './output-format.ts';
import { checkRegex } from './regex.ts';
import type { Complaint, IterationResult } from './verdict.ts';

/**
 * Runs validators in order, up to the first that needs a judge. The first failure stops, so the last verdict is the only
 * one that can be a failure.
 */
export function validate(validators: readonly ResultValidator[], result: IterationResult): Verdict[] {
  const verdicts: Verdict[] = [];
  for (const validator of validators) {
    if (needsJudge(validator)) break;
    const complaint = complaintOf(validator, result);
    const score = complaint === null ? 1 : 0;
    const passed = score >= validator.min_score;
    const reason = complaint === null ? '' : keepHead(complaint, LIMITS.keptAttemptChars);
    verdicts.push({ validator: nameOf(validator), passed, score, reason });
    if (!passed) break;
  }
  return verdicts;
}

function complaintOf(validator: ResultCheck, result: IterationResult): Complaint {
  switch (validator.type) {
    case 'exit_code':
      return checkExitCode(result, validator.expected);
    case 'stderr_empty':
      return checkStderrEmpty(result);
    case 'json_schema':
      return checkJson(result, validator.schema);
    case 'regex':
      return checkRegex(result, validator.pattern, validator.target);
    case 'output_format':
      return checkFormat(result, validator.format);
    case 'tool_call':
      return result.tools?.includes(validator.tool) === true
        ? null
        : `no call of ${validator.tool} has succeeded: call it, and answer when it has`;
  }
}

/** As verdicts name it. */
export function nameOf(validator: ResultValidator): string {
  switch (validator.type) {
    case 'regex':
      return `regex (${validator.target})`;
    case 'tool_call':
      return `tool_call (${validator.tool})`;
    case 'output_format':
      return `output_format (${validator.format})`;
    case 'semantic':
      return `semantic (${validator.judges.join(', ')})`;
    case 'semantic_prompt':
      return `semantic (model ${validator.model})`;
    default:
      return validator.type;
  }
}
