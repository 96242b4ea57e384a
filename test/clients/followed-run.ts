import assert from 'node:assert/strict';

/**
 * Checks the output of the Python and the Go example client: each event of the run once and in order (`NUMBER NAME`), the end
 * of the run, and the refusal of a cancel that came too late.
 */
export function assertFollowedRun(stdout: string): void {
  const lines = stdout.trim().split('\n');
  const followed = lines.slice(0, -2).map((line) => line.split(' '));
  assert.deepEqual(
    followed.map(([id]) => Number(id)),
    followed.map((_line, index) => index + 1),
  );
  assert.equal(followed.at(-1)?.[1], 'WorkflowExecutionCompleted', stdout);
  assert.match(lines.slice(-2).join('\n'), /^completed \d states\n409 /);
}
