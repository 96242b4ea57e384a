import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import type { CommandCeilings } from '../../manifests/tool/scope.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { SecurityContexts } from '../../security/policy/api.ts';
import type { ScriptRules } from '../../usecases/ports/script-rules.ts';
import { cmdRun } from '../command/tools.ts';
import { builtInOffer } from '../tool-granter.ts';

interface ScriptRulesParts {
  readonly contexts: Pick<SecurityContexts, 'scopeFor'>;
  readonly policy: ToolPolicy;
  /** The node's ceilings for `cmd.run`. */
  readonly ceilings: CommandCeilings;
}

/** The rules of `cmd.run`: the deny list and the capabilities of the security context, and the ceilings of the node. */
export function createScriptRules({ contexts, policy, ceilings }: ScriptRulesParts): ScriptRules {
  return (tenant, { path, timeout_ms, grant }) => {
    const scope = contexts.scopeFor(tenant, grant);
    const offered = { ...scope, ceilings, tools: [builtInOffer(cmdRun)] };
    const decision = policy.decide(offered, { name: cmdRun.name, arguments: { command: path } });
    if (!decision.allowed) throw new SvcError('forbidden', `${decision.reason}: ${decision.message}`);
    const { command: limits } = decision.limits;
    if (limits === undefined) throw new Error('a decision about a command has its limits');
    return { scope, timeoutMs: Math.min(timeout_ms, Math.round(limits.timeout_secs * 1_000)), limits };
  };
}
