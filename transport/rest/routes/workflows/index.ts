import type { RestApp, RestParts } from '../../parts.ts';
import { cancelWorkflowExecutionRoute } from './cancel-workflow-execution.ts';
import { changeWorkflowRoute } from './change-workflow.ts';
import { changeWorkflowScopeRoute } from './change-workflow-scope.ts';
import { deleteWorkflowRoute } from './delete-workflow.ts';
import { deleteWorkflowExecutionRoute } from './delete-workflow-execution.ts';
import { deployWorkflowRoute } from './deploy-workflow.ts';
import { exportWorkflowRoute } from './export-workflow.ts';
import { getWorkflowRoute } from './get-workflow.ts';
import { getWorkflowExecutionRoute } from './get-workflow-execution.ts';
import { listWorkflowExecutionsRoute } from './list-workflow-executions.ts';
import { listWorkflowLogsRoute } from './list-workflow-logs.ts';
import { listWorkflowVersionsRoute } from './list-workflow-versions.ts';
import { listWorkflowsRoute } from './list-workflows.ts';
import { runWorkflowRoute } from './run-workflow.ts';
import { searchWorkflowsRoute } from './search-workflows.ts';
import { signalWorkflowRoute } from './signal-workflow.ts';
import { streamWorkflowRoutes } from './stream-workflow.ts';
import { validateWorkflowRoute } from './validate-workflow.ts';

const ROUTES = [
  deployWorkflowRoute,
  validateWorkflowRoute,
  listWorkflowsRoute,
  searchWorkflowsRoute,
  getWorkflowRoute,
  exportWorkflowRoute,
  listWorkflowVersionsRoute,
  changeWorkflowRoute,
  changeWorkflowScopeRoute,
  deleteWorkflowRoute,
  runWorkflowRoute,
  listWorkflowExecutionsRoute,
  getWorkflowExecutionRoute,
  listWorkflowLogsRoute,
  streamWorkflowRoutes,
  signalWorkflowRoute,
  cancelWorkflowExecutionRoute,
  deleteWorkflowExecutionRoute,
];

/** /v1/workflows, where the node has workflows. */
export function workflowRoutes(app: RestApp, parts: RestParts): void {
  const { workflows } = parts;
  if (workflows === undefined) return;
  for (const route of ROUTES) route(app, { ...parts, ...workflows });
}
