import { z } from 'zod';
import type { Ask, ProductNode } from './product-node.ts';

/** The object that a route's path names. */
export type ThingKind =
  | 'agent'
  | 'execution'
  | 'workflow'
  | 'run'
  | 'pipeline'
  | 'approval'
  | 'stimulus'
  | 'source'
  | 'volume'
  | 'key'
  | 'secret'
  | 'node';

export interface SurfaceRow {
  readonly access: 'public' | 'read' | 'run' | 'write' | 'audit' | 'inspect' | 'operate' | 'break';
  /** Kind of the object that the parameter of the path names. */
  readonly thing?: ThingKind;
  /** It creates the object that its path names, so it cannot touch an object of another tenant. */
  readonly makes?: true;
  /** Query of the call. */
  readonly query?: string;
  readonly body?: object | string;
}

const look = (thing?: ThingKind, query = ''): SurfaceRow => ({
  access: 'read',
  query,
  ...(thing === undefined ? {} : { thing }),
});

/**
 * Every route of the served description, the right that it needs, and a call of it that passes its schema. A test
 * compares this table with the description: the tests that go through all routes cannot miss a new one.
 */
export const SURFACE: Readonly<Record<string, SurfaceRow>> = {
  'GET /.well-known/jwks.json': { access: 'public' },
  'GET /.well-known/oauth-protected-resource': { access: 'public' },
  'GET /.well-known/oauth-protected-resource/mcp': { access: 'public' },
  'GET /health': { access: 'public' },
  'GET /health/live': { access: 'public' },
  'GET /health/ready': { access: 'public' },

  'GET /v1/agents': look(),
  'POST /v1/agents': { access: 'write', body: 'no manifest' },
  'GET /v1/agents/search': look(undefined, '?q=x'),
  'GET /v1/agents/lookup/{name}': look('agent'),
  'GET /v1/agents/{id}': look('agent'),
  'PATCH /v1/agents/{id}': { access: 'write', thing: 'agent', body: { status: 'paused' } },
  'DELETE /v1/agents/{id}': { access: 'write', thing: 'agent' },
  'GET /v1/agents/{id}/versions': look('agent'),
  'GET /v1/agents/{id}/export': look('agent'),
  'GET /v1/agents/{id}/logs': look('agent'),
  'POST /v1/agents/{id}/scope': {
    access: 'write',
    thing: 'agent',
    body: { action: 'demote', target_scope: 'user' },
  },
  'POST /v1/agents/generate': { access: 'run', body: {} },
  'POST /v1/agents/{id}/execute': { access: 'run', thing: 'agent', body: {} },

  'POST /v1/execute': { access: 'run', body: {} },
  'POST /v1/execute/intent': { access: 'run', body: {} },
  'GET /v1/execute/{id}': look('pipeline'),

  'GET /v1/audit': { access: 'audit' },
  'GET /v1/audit/chains': { access: 'audit' },
  'GET /v1/audit/records': { access: 'audit', query: '?node=x' },

  'GET /v1/executions': look(),
  'POST /v1/executions': { access: 'run', body: {} },
  'GET /v1/executions/{id}': look('execution'),
  'DELETE /v1/executions/{id}': { access: 'write', thing: 'execution' },
  'GET /v1/executions/{id}/stream': look('execution'),
  'GET /v1/executions/{id}/events': look('execution'),
  'GET /v1/executions/{id}/why': look('execution'),
  'POST /v1/executions/{id}/cancel': { access: 'run', thing: 'execution' },

  'GET /v1/workflows': look(),
  'POST /v1/workflows/generate': { access: 'run', body: {} },
  'POST /v1/workflows': { access: 'write', body: 'no manifest' },
  'POST /v1/agents/validate': { access: 'read', body: 'no manifest' },
  'POST /v1/workflows/validate': { access: 'read', body: 'no manifest' },
  'GET /v1/workflows/search': look(undefined, '?q=x'),
  'GET /v1/workflows/{name}': look('workflow'),
  'PATCH /v1/workflows/{name}': { access: 'write', thing: 'workflow', body: { status: 'paused' } },
  'DELETE /v1/workflows/{name}': { access: 'write', thing: 'workflow' },
  'GET /v1/workflows/{name}/export': look('workflow'),
  'GET /v1/workflows/{name}/versions': look('workflow'),
  'POST /v1/workflows/{name}/scope': {
    access: 'write',
    thing: 'workflow',
    body: { action: 'demote', target_scope: 'user' },
  },
  'POST /v1/workflows/{name}/run': { access: 'run', thing: 'workflow', body: {} },

  'GET /v1/workflows/executions': look(),
  'GET /v1/workflows/executions/{id}': look('run'),
  'DELETE /v1/workflows/executions/{id}': { access: 'write', thing: 'run' },
  'GET /v1/workflows/executions/{id}/logs': look('run'),
  'GET /v1/workflows/executions/{id}/why': look('run'),
  'GET /v1/workflows/executions/{id}/stream': look('run'),
  'GET /v1/workflows/executions/{id}/logs/stream': look('run'),
  'POST /v1/workflows/executions/{id}/signal': { access: 'run', thing: 'run', body: { response: 'yes' } },
  'POST /v1/workflows/executions/{id}/cancel': { access: 'run', thing: 'run' },

  'GET /v1/runs': look(),
  'GET /v1/feed': look(undefined, '?last_event_id=no'),

  'GET /v1/human-approvals': look(),
  'GET /v1/human-approvals/{id}': look('approval'),
  'POST /v1/human-approvals/{id}/approve': { access: 'run', thing: 'approval', body: {} },
  'POST /v1/human-approvals/{id}/reject': { access: 'run', thing: 'approval', body: { reason: 'no' } },

  'GET /v1/stimuli': look(),
  'POST /v1/stimuli': { access: 'run', body: { source: 'nobody-routes-this', content: 'x' } },
  'GET /v1/stimuli/{id}': look('stimulus'),
  'GET /v1/stimuli/routes': look(),
  'PUT /v1/stimuli/routes/{source}': { access: 'write', thing: 'source', makes: true, body: {} },
  'DELETE /v1/stimuli/routes/{source}': { access: 'write', thing: 'source' },
  'POST /v1/webhooks/{source}': { access: 'public', thing: 'source', body: 'x' },

  'GET /v1/volumes': look(),
  'POST /v1/volumes': { access: 'write', body: {} },
  'GET /v1/volumes/{id}': look('volume'),
  'GET /v1/volumes/{id}/events': look('volume'),
  'DELETE /v1/volumes/{id}': { access: 'write', thing: 'volume' },
  'GET /v1/volumes/{id}/files': look('volume'),
  'DELETE /v1/volumes/{id}/files': { access: 'write', thing: 'volume', query: '?path=note.txt' },
  'GET /v1/volumes/{id}/files/content': look('volume', '?path=note.txt'),
  'PUT /v1/volumes/{id}/files/content': { access: 'write', thing: 'volume', query: '?path=note.txt', body: 'theirs' },
  'POST /v1/volumes/{id}/files/mkdir': { access: 'write', thing: 'volume', body: { path: 'theirs' } },

  // Besides the bearer an agent needs a signature: test/transport/seal tests it, and the isolation of
  // sessions. The tools are listed for the agent's own token.
  'POST /v1/seal/attest': { access: 'run', body: {} },
  'POST /v1/seal/invoke': { access: 'run', body: {} },
  'POST /v1/invoke': { access: 'run', body: {} },
  'GET /v1/seal/tools': { access: 'public' },
  'GET /v1/tools': look(),
  'POST /v1/tools/{name}': { access: 'read', body: {} },
  'GET /v1/seal/sessions': look(),
  'GET /v1/seal/sessions/{id}': look(),
  'GET /v1/seal/sessions/{id}/audit': look(),
  'POST /v1/seal/sessions/{id}/revoke': { access: 'write' },

  'GET /v1/api-keys': look(),
  'POST /v1/api-keys': { access: 'read', body: {} },
  'GET /v1/api-keys/{id}': look('key'),
  'DELETE /v1/api-keys/{id}': { access: 'read', thing: 'key' },
  'POST /v1/api-keys/validate': { access: 'read', body: { key: 'svc_nothing' } },

  'GET /v1/cortex/patterns': look(),
  'POST /v1/cortex/patterns': { access: 'write', body: {} },

  'GET /v1/user/rate-limits/usage': look(),
  'GET /v1/admin/rate-limits/usage': { access: 'inspect', query: '?tenant=alpha&subject=andy' },
  'GET /v1/admin/rate-limits/overrides': { access: 'inspect' },
  'PUT /v1/admin/rate-limits/overrides': { access: 'operate', body: {} },
  'DELETE /v1/admin/rate-limits/overrides': { access: 'operate', query: '?tenant=nobody' },

  'GET /v1/secrets': { access: 'write' },
  'GET /v1/secrets/{path}': { access: 'write', thing: 'secret' },
  'PUT /v1/secrets/{path}': { access: 'write', thing: 'secret', makes: true, body: {} },
  'DELETE /v1/secrets/{path}': { access: 'write', thing: 'secret' },

  'GET /v1/actors/{kind}/{id}': look(),
  'GET /v1/actors/{kind}/{id}/mailbox': look(),
  'GET /v1/actors/{kind}/{id}/history': look(),
  'GET /v1/actors/{kind}/{id}/state': look(undefined, '?at=x'),
  'GET /v1/actors/{kind}/{id}/diff': look(undefined, '?to=x'),
  'GET /v1/actors/{kind}/{id}/recording': look(),
  'GET /v1/runs/{id}/recording': look('run'),
  'POST /v1/runs/{id}/fork': { access: 'run', thing: 'run', body: {} },
  'GET /v1/traces': look(),
  'GET /v1/traces/{trace_id}': look(),
  'GET /v1/traces/{trace_id}/critical-path': look(),
  'GET /v1/traces/{trace_id}/summary': look(),
  'GET /v1/tap': look(),
  'GET /v1/messages/{id}': look(),
  'GET /v1/messages/{id}/causes': look(),
  'GET /v1/messages/{id}/effects': look(),
  'GET /v1/dead-letters': look(),
  'GET /v1/dead-letters/{id}': look(),
  'POST /v1/dead-letters/{id}/replay': { access: 'write', body: {} },
  'POST /v1/dead-letters/{id}/discard': { access: 'write', body: { reason: 'x' } },

  'GET /v1/me': look(),
  'GET /v1/schemas/{kind}': look(),

  'GET /v1/cluster/status': { access: 'inspect' },
  'GET /v1/cluster/plan': { access: 'inspect' },
  'GET /v1/cluster/takeovers': { access: 'inspect' },
  'GET /v1/cluster/partitions': { access: 'inspect' },
  'GET /v1/cluster/nodes': { access: 'inspect' },
  'GET /v1/cluster/nodes/{id}': { access: 'inspect', thing: 'node' },
  'DELETE /v1/cluster/nodes/{id}': { access: 'operate', thing: 'node' },
  'POST /v1/cluster/nodes/{id}/drain': { access: 'operate', thing: 'node' },
  'POST /v1/cluster/nodes/{id}/shutdown': { access: 'operate', thing: 'node' },
  'GET /v1/cluster/config': { access: 'inspect' },
  'PUT /v1/cluster/config': { access: 'operate', body: 'no configuration' },
  'POST /v1/cluster/config/push': { access: 'operate' },
  'GET /v1/cluster/providers': { access: 'inspect' },
  'PUT /v1/cluster/providers/{name}': { access: 'operate', thing: 'node', body: {} },
  'DELETE /v1/cluster/providers/{name}': { access: 'operate', thing: 'node' },
  'PUT /v1/cluster/providers/{name}/models/{alias}': { access: 'operate', thing: 'node', body: {} },
  'DELETE /v1/cluster/providers/{name}/models/{alias}': { access: 'operate', thing: 'node' },
  'GET /v1/cluster/secret-keys': { access: 'inspect' },
  'POST /v1/cluster/secret-keys/rotate': { access: 'operate' },
  'GET /v1/cluster/join-tokens': { access: 'inspect' },
  'POST /v1/cluster/join-tokens': { access: 'operate', body: {} },
  'DELETE /v1/cluster/join-tokens/{id}': { access: 'operate', thing: 'node' },
  'POST /v1/chaos/faults': { access: 'break', body: {} },
  'GET /v1/chaos/faults': { access: 'break' },
};

/** `METHOD /path` of all operations that a node describes. */
export async function operationsOf(node: ProductNode): Promise<string[]> {
  const { body } = await node.call('GET', '/v1/openapi.json');
  const paths = z.record(z.string(), z.record(z.string(), z.unknown())).parse(body.paths);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** A call of the route for the object of that name. */
export function callOf(operation: string, name = ''): { method: string; path: string; ask: Ask } {
  const [method = '', template = ''] = operation.split(' ');
  const { query = '', body } = SURFACE[operation] ?? { access: 'public' };
  const path = template.replace(/\{\w+\}/, encodeURIComponent(name)) + query;
  if (body === undefined) return { method, path, ask: {} };
  if (typeof body !== 'string')
    return { method, path, ask: { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } };
  const type = template.startsWith('/v1/volumes') ? 'application/octet-stream' : 'application/yaml';
  return { method, path, ask: { body, headers: { 'content-type': type } } };
}
