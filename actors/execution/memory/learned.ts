import { keepHead } from '../bounded-text.ts';
import { outputDiff } from '../refinement.ts';
import type { Attempt, IdleExecution } from '../state.ts';
import { MEMORY } from './limits.ts';

/** Of a program's last words, the line that names its error. */
const ERROR_LINE = /error|exception|fail|denied|refused|fatal|panic/i;

/** A failed iteration as an error that patterns are stored under and found by; the same failure gives the same words. */
export function errorOf({ error_type, message }: Attempt): { error_type: string; error_signature: string } {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  const named = error_type === 'program_failed' ? lines.findLast((line) => ERROR_LINE.test(line)) : undefined;
  const signature = (named ?? lines[0] ?? error_type).slice(0, MEMORY.signatureChars).toWellFormed();
  return { error_type, error_signature: signature };
}

/**
 * What an accepted output did about the failure before it, in words of the node: what it changed against the rejected
 * output, or, where there was none, how it begins. No model is asked.
 */
export function solutionOf(execution: IdleExecution, output: string): { approach: string; code: string } {
  const { agent_name, last_output } = execution;
  const diff = outputDiff(last_output, output);
  const approach =
    diff === ''
      ? `Agent ${agent_name}: this output was accepted:\n${keepHead(output, MEMORY.diffChars)}`
      : `Agent ${agent_name}: changed against the rejected output:\n${keepHead(diff, MEMORY.diffChars)}`;
  return { approach, code: keepHead(output, MEMORY.outputChars) };
}
