import { z } from 'zod';
import type { ToolScope } from './scope.ts';

/** What a manifest's `spec.security` says to programs and commands of the host. */
export const ProgramRules = z.object({
  /** `open`: all of it; `none`: the manifest says so; `closed`: it is not all allowed, as by default. */
  network: z.enum(['open', 'closed', 'none']),
  read_only: z.boolean(),
});
export type ProgramRules = z.output<typeof ProgramRules>;

/** Nothing enforces lists of domains or of paths for a program: what is not all allowed is closed. */
export function programRules({ network, filesystem }: Pick<ToolScope, 'network' | 'filesystem'>): ProgramRules {
  const all = network?.mode === 'allow' && network.allowlist.length === 0 && network.denylist.length === 0;
  const closed = network?.mode === 'none' ? 'none' : 'closed';
  return { network: all ? 'open' : closed, read_only: filesystem?.read_only === true };
}
