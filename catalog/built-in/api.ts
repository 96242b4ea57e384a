import type { DeployedAgent, DeployedWorkflow } from '../api.ts';

/**
 * Agents and workflows that ship with the product. Readers find them last (after user, tenant and global ones); they are
 * read-only, status deployed, scope global, labelled `svc.dev/platform: "true"`. Manifests are parsed at the first use.
 */
export interface BuiltIns {
  readonly agents: readonly DeployedAgent[];
  readonly workflows: readonly DeployedWorkflow[];
}

/** Where nothing ships: tests, tools that only check manifests. */
export const NO_BUILT_INS: BuiltIns = { agents: [], workflows: [] };

/** The label every built-in carries. */
export const PLATFORM_LABEL = 'svc.dev/platform';

export { AGENT_AUTHOR_ID, builtInId, INTENT_PIPELINE_ID, isAuthor, WORKFLOW_AUTHOR_ID } from './names.ts';
