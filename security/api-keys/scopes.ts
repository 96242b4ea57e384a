import type { Action } from '../policy.ts';

/** What a scope speaks about; each route and method belongs to one. */
const SCOPE_AREAS = [
  'agents',
  'approvals',
  'cluster',
  'executions',
  'keys',
  'limits',
  'patterns',
  'secrets',
  'stimuli',
  'system',
  'tools',
  'volumes',
  'workflows',
] as const;
export type ScopeArea = (typeof SCOPE_AREAS)[number];

/** `executions:write`. `call` is of tools alone, where nothing is written. */
export type Scope = `${ScopeArea}:${'read' | 'write' | 'call'}`;

/** All a key may be given. `*` is everything but making and revoking keys, which must be said: `keys:write`. */
export const SCOPES: readonly string[] = [
  '*',
  ...SCOPE_AREAS.flatMap((area) => [`${area}:*`, `${area}:read`, area === 'tools' ? 'tools:call' : `${area}:write`]),
];

const MAKES_KEYS = 'keys:write';

/** Whether what was granted holds the scope; what nobody granted is denied. */
export function holds(granted: readonly string[], scope: string): boolean {
  if (granted.includes(scope) || granted.includes(`${scope.slice(0, scope.indexOf(':'))}:*`)) return true;
  return granted.includes('*') && scope !== MAKES_KEYS;
}

/** Whether every call that `asked` admits, `granted` admits as well. */
export function isWithin(asked: string, granted: readonly string[]): boolean {
  if (granted.includes(asked)) return true;
  if (asked === '*') return false;
  if (!asked.endsWith(':*')) return holds(granted, asked);
  const ofArea = SCOPES.filter((one) => one.startsWith(asked.slice(0, -1)) && one !== asked);
  return ofArea.every((one) => holds(granted, one));
}

/** Whether one of them lets a key make others. */
export const makesKeys = (scopes: readonly string[]): boolean => holds(scopes, MAKES_KEYS);

/** The scope that an action in an area needs. Starting something of an agent or a workflow is a matter of executions. */
export function scopeOf(area: ScopeArea, action: Action): Scope {
  const looks = action === 'read' || action === 'inspect';
  if (area === 'tools') return looks ? 'tools:read' : 'tools:call';
  return `${area}:${looks ? 'read' : 'write'}`;
}
