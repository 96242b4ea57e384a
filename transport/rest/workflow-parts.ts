import type { WorkflowApi } from '../../actors/workflow/api.ts';
import type { WorkflowCatalog } from '../../catalog/api.ts';

/** What /v1/workflows translates into calls of. */
export interface WorkflowParts {
  readonly catalog: WorkflowCatalog;
  readonly workflows: WorkflowApi;
}
