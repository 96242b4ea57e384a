import type { Action, ScopeArea } from '../../security/api.ts';

/** What the routes below a path are about, for scopes of API keys. A path that is not here is reached by `*` alone. */
const AREAS: Readonly<Record<string, ScopeArea>> = {
  '/mcp': 'tools',
  '/v1/admin/rate-limits': 'limits',
  '/v1/agents': 'agents',
  '/v1/api-keys': 'keys',
  '/v1/chaos': 'cluster',
  '/v1/cluster': 'cluster',
  '/v1/cortex': 'patterns',
  '/v1/execute': 'executions',
  '/v1/executions': 'executions',
  '/v1/human-approvals': 'approvals',
  '/v1/invoke': 'tools',
  '/v1/runtimes': 'system',
  '/v1/schemas': 'system',
  '/v1/seal': 'tools',
  '/v1/secrets': 'secrets',
  '/v1/stimuli': 'stimuli',
  '/v1/system': 'system',
  '/v1/tools': 'tools',
  '/v1/user/rate-limits': 'limits',
  '/v1/volumes': 'volumes',
  '/v1/workflows': 'workflows',
  '/v1/workflows/executions': 'executions',
};

/** Routes that put agents and workflows there, though they are `run` and not `write`. */
const GENERATES = new Set(['/v1/agents/generate', '/v1/workflows/generate']);

/** The area of a route, by its template. Whoever starts an agent or a workflow needs a scope of executions. */
export function areaOfPath(template: string, action: Action): ScopeArea | undefined {
  const parts = template.split('/');
  for (let length = parts.length; length > 1; length -= 1) {
    const area = AREAS[parts.slice(0, length).join('/')];
    if (area === undefined) continue;
    const starts = (area === 'agents' || area === 'workflows') && action === 'run' && !GENERATES.has(template);
    return starts ? 'executions' : area;
  }
  return undefined;
}
