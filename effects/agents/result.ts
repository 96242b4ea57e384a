import { CapturedStream } from '../containers/captured-stream.ts';
import type { ContainerResult } from '../containers/input.ts';
import { Redactor } from '../programs/redact.ts';
import type { AgentContainerResult } from './input.ts';

/** How the container ended, in the words of `program.run`; secrets are taken out of what it wrote. */
export function resultOf(ended: ContainerResult, secrets: readonly string[], limitBytes: number): AgentContainerResult {
  const stdout = cut(clean(ended.stdout, secrets), limitBytes);
  const stderr = cut(clean(ended.stderr, secrets), limitBytes);
  const { exit_code, duration_ms, timed_out, stopped_by } = ended;
  return {
    exit_code,
    // Ended by a limit and not by itself: no validator judges it.
    ...(stopped_by === undefined ? {} : { signal: 'SIGKILL' as const, stopped_by }),
    stdout: stdout.text,
    stderr: stderr.text,
    duration_ms,
    stdout_truncated: ended.stdout_truncated || stdout.truncated,
    stderr_truncated: ended.stderr_truncated || stderr.truncated,
    timed_out,
  };
}

function clean(text: string, secrets: readonly string[]): string {
  const redactor = new Redactor(secrets);
  return redactor.push(text) + redactor.end();
}

function cut(text: string, limitBytes: number): { readonly text: string; readonly truncated: boolean } {
  const kept = new CapturedStream(limitBytes);
  kept.push(Buffer.from(text));
  return { text: kept.text(), truncated: kept.truncated };
}
