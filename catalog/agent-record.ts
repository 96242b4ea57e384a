import type { CollectionSpec } from '../runtime/documents.ts';

export const AGENTS: CollectionSpec = {
  name: 'deployed_agents',
  unique: [['scope', 'owner', 'name']],
  indexes: [['name'], ['created_by']],
  // A list reads only these fields; it reads whole records only when they are not cached (store/manifest-store.ts).
  beside: ['owner', 'scope', 'status', 'version'],
};
export const AGENT_MANIFESTS: CollectionSpec = { name: 'agent_manifests', unique: [], indexes: [] };
export const AGENT_EVENTS: CollectionSpec = {
  name: 'agent_events',
  unique: [],
  indexes: [['agent_id', 'sequence'], ['recorded_at']],
};
