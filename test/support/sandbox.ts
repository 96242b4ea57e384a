import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openSandbox, type SandboxSettings } from '../../effects/programs/open-sandbox.ts';
import type { Sandbox } from '../../effects/programs/sandbox.ts';

/** Environment variables that every program has: they keep git from running programs that configuration names. */
export const GIT_NAMES: readonly string[] = [
  ...['GIT_CONFIG_COUNT', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_NOSYSTEM', 'GIT_PAGER', 'GIT_TERMINAL_PROMPT', 'PAGER'],
  ...[0, 1, 2, 3].flatMap((index) => [`GIT_CONFIG_KEY_${index}`, `GIT_CONFIG_VALUE_${index}`]),
];

/** The sandbox of this machine over these workspaces; null with the reason where there is none. */
export async function sandboxFor(
  workspaces: string,
  more: Partial<SandboxSettings> = {},
): Promise<{ readonly sandbox: Sandbox | null; readonly reason: string }> {
  const opened = await openSandbox({ workspaces, hidden: [workspaces], ...more });
  return opened.sandbox === null ? opened : { sandbox: opened.sandbox, reason: '' };
}

/**
 * Options of suites whose nodes do not start without a sandbox, since tenants with authentication may run commands there. Where
 * there is none they are skipped, and say so; under `CI` they run and fail.
 */
export async function needsSandbox(): Promise<{ readonly skip?: string }> {
  if (process.env.CI === 'true') return {};
  const directory = await mkdtemp(join(tmpdir(), 'svc-probed-'));
  const { reason } = await sandboxFor(directory);
  await rm(directory, { recursive: true, force: true });
  if (reason === '') return {};
  console.error(`NO SANDBOX HERE (${reason}): not tested`);
  return { skip: `NO SANDBOX HERE: ${reason}` };
}

/** Skips a test that needs a sandbox, loudly; with CI=true a skipped test counts as failed. */
export function skipWithout(t: Pick<TestContext, 'skip'>, reason: string): void {
  console.error(`NO SANDBOX HERE (${reason}): not tested`);
  t.skip(`NO SANDBOX HERE: ${reason}`);
}
