import type { Complaint, IterationResult } from './verdict.ts';

export function checkExitCode(result: IterationResult, expected: number): Complaint {
  if (result.exit_code === expected) return null;
  const got = result.exit_code === null ? 'none (ended by a signal)' : String(result.exit_code);
  return `expected exit code ${expected}, got ${got}`;
}

export function checkStderrEmpty(result: IterationResult): Complaint {
  const stderr = result.stderr.trim();
  return stderr === '' ? null : `expected an empty stderr, got: ${stderr.slice(0, 300)}`;
}
