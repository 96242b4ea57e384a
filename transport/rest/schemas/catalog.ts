/** What agents and workflows have in common. */

export const SCOPES = ['user', 'tenant', 'global'] as const;
export const CATALOG_STATUSES = ['deployed', 'paused', 'archived'] as const;
