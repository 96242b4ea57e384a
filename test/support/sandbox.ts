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

/** Skips a test that needs a sandbox, loudly; with CI=true a skipped test counts as failed. */
export function skipWithout(t: Pick<TestContext, 'skip'>, reason: string): void {
  console.error(`NO SANDBOX HERE (${reason}): not tested`);
  t.skip(`NO SANDBOX HERE: ${reason}`);
}
