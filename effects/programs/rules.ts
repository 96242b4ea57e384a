import type { ProgramRules } from '../../manifests/tool/program-rules.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ProgramView } from './view.ts';

/**
 * What rules mean to a program in a view. Throws `unsupported_isolation` naming the rule where the manifest asks for one that
 * nothing would enforce: such a program is refused, the rule never ignored.
 */
export function confined(
  view: ProgramView | null,
  { network, read_only }: ProgramRules,
): { readonly network: 'none' | 'host'; readonly readOnly: boolean } {
  if (view?.confines !== true) {
    if (network === 'none') throw unenforced('network', 'mode none');
    if (read_only) throw unenforced('filesystem', 'read_only');
    return { network: 'host', readOnly: false };
  }
  return { network: network === 'open' ? view.network : 'none', readOnly: read_only };
}

function unenforced(field: 'network' | 'filesystem', rule: string): SvcError {
  const text = `spec.security.${field}: this node cannot enforce ${rule} for commands: it has no sandbox (install bubblewrap)`;
  return new SvcError('unsupported_isolation', text, { field: `spec.security.${field}` });
}
