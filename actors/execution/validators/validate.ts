import { keepHead } from '../bounded-text.ts';
import { LIMITS } from '../limits.ts';
import type { ResultValidator } from '../plan.ts';
import type { Verdict } from '../state.ts';
import { checkExitCode, checkStderrEmpty } from './exit-code.ts';
import { checkJson } from './json-schema.ts';
import { checkFormat } from './output-format.ts';
import { checkRegex } from './regex.ts';
import type { Complaint, IterationResult } from './verdict.ts';

/** Runs validators in order; the first failure stops, so the last verdict is the only one that can be a failure. */
export function validate(validators: readonly ResultValidator[], result: IterationResult): Verdict[] {
  const verdicts: Verdict[] = [];
  for (const validator of validators) {
    const complaint = complaintOf(validator, result);
    const score = complaint === null ? 1 : 0;
    const passed = score >= validator.min_score;
    const reason = complaint === null ? '' : keepHead(complaint, LIMITS.keptAttemptChars);
    verdicts.push({ validator: nameOf(validator), passed, score, reason });
    if (!passed) break;
  }
  return verdicts;
}

function complaintOf(validator: ResultValidator, result: IterationResult): Complaint {
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
  }
}

function nameOf(validator: ResultValidator): string {
  if (validator.type === 'regex') return `regex (${validator.target})`;
  return validator.type === 'output_format' ? `output_format (${validator.format})` : validator.type;
}
