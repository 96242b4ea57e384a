import type { RestApp, RestParts } from '../parts.ts';
import { approvalRoutes } from './approvals/index.ts';
import { cancelExecutionRoute } from './cancel-execution.ts';
import { changeAgentRoute } from './change-agent.ts';
import { changeAgentScopeRoute } from './change-agent-scope.ts';
import { chaosRoutes } from './chaos/index.ts';
import { clusterRoutes } from './cluster/index.ts';
import { cortexRoutes } from './cortex/index.ts';
import { deleteAgentRoute } from './delete-agent.ts';
import { deleteExecutionRoute } from './delete-execution.ts';
import { deployAgentRoute } from './deploy-agent.ts';
import { executeRoutes } from './execute/index.ts';
import { executeAgentRoute } from './execute-agent.ts';
import { exportAgentRoute } from './export-agent.ts';
import { generateRoutes } from './generate/index.ts';
import { getAgentRoute } from './get-agent.ts';
import { getExecutionRoute } from './get-execution.ts';
import { healthRoutes } from './health.ts';
import { healthReadyRoute } from './health-ready.ts';
import { jwksRoute } from './jwks.ts';
import { keyRoutes } from './keys/index.ts';
import { limitRoutes } from './limits/index.ts';
import { listAgentLogsRoute } from './list-agent-logs.ts';
import { listAgentVersionsRoute } from './list-agent-versions.ts';
import { listAgentsRoute } from './list-agents.ts';
import { listExecutionEventsRoute } from './list-execution-events.ts';
import { listExecutionsRoute } from './list-executions.ts';
import { lookupAgentRoute } from './lookup-agent.ts';
import { openapiRoute } from './openapi.ts';
import { protectedResourceRoute } from './protected-resource.ts';
import { sealRoutes } from './seal/index.ts';
import { searchAgentsRoute } from './search-agents.ts';
import { secretRoutes } from './secrets/index.ts';
import { startExecutionRoute } from './start-execution.ts';
import { stimulusRoutes } from './stimuli/index.ts';
import { streamExecutionRoute } from './stream-execution.ts';
import { toolRoutes } from './tools/index.ts';
import { volumeRoutes } from './volumes/index.ts';
import { workflowRoutes } from './workflows/index.ts';

/** Every route of the REST API, one file each. */
const ROUTES: readonly ((app: RestApp, parts: RestParts) => void)[] = [
  healthRoutes,
  healthReadyRoute,
  lookupAgentRoute,
  searchAgentsRoute,
  listAgentsRoute,
  deployAgentRoute,
  getAgentRoute,
  listAgentVersionsRoute,
  exportAgentRoute,
  listAgentLogsRoute,
  changeAgentRoute,
  changeAgentScopeRoute,
  executeAgentRoute,
  deleteAgentRoute,
  startExecutionRoute,
  listExecutionsRoute,
  getExecutionRoute,
  streamExecutionRoute,
  listExecutionEventsRoute,
  cancelExecutionRoute,
  deleteExecutionRoute,
  generateRoutes,
  executeRoutes,
  workflowRoutes,
  approvalRoutes,
  stimulusRoutes,
  clusterRoutes,
  chaosRoutes,
  volumeRoutes,
  sealRoutes,
  toolRoutes,
  cortexRoutes,
  keyRoutes,
  limitRoutes,
  secretRoutes,
  jwksRoute,
  protectedResourceRoute,
  openapiRoute,
];

export function addRoutes(app: RestApp, parts: RestParts): void {
  for (const route of ROUTES) route(app, parts);
}
