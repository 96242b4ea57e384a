import type { ToolContract } from '../manifests/tool/contract.ts';

/** One of `spec.builtin_dispatchers` (manifests/node/tools.ts), as far as judges go. */
export interface DispatcherSettings {
  readonly name: string;
  readonly enabled: boolean;
  readonly capabilities: readonly { readonly name: string; readonly skip_judge: boolean }[];
}

/**
 * The operator's word about judges of built-in tools (spec 3, Inner-loop judge defaults), by name or alias; null where
 * there is none. Of two that name one tool the later counts. A dispatcher that is off is as if it were not there.
 */
export function judgeOverrides(dispatchers: readonly DispatcherSettings[]): (tool: ToolContract) => boolean | null {
  const said = new Map<string, boolean>();
  for (const { enabled, capabilities } of dispatchers) {
    if (enabled) for (const { name, skip_judge } of capabilities) said.set(name, skip_judge);
  }
  return ({ name, aliases = [] }) => {
    const known = [name, ...aliases].find((one) => said.has(one));
    return known === undefined ? null : (said.get(known) ?? null);
  };
}
