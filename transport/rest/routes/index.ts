import type { RestApp, RestParts } from '../parts.ts';
import {
  changeAgentRoute,
  changeAgentScopeRoute,
  deleteAgentRoute,
  deployAgentRoute,
  executeAgentRoute,
  exportAgentRoute,
  getAgentRoute,
  listAgentLogsRoute,
  listAgentsRoute,
  listAgentVersionsRoute,
  lookupAgentRoute,
  searchAgentsRoute,
} from './agents.ts';
import { approvalRoutes } from './approvals.ts';
import { chaosRoutes } from './chaos.ts';
import { clusterRoutes } from './cluster.ts';
import { cortexRoutes } from './cortex.ts';
import { executeRoutes, generateRoutes } from './execute.ts';
import {
  cancelExecutionRoute,
  deleteExecutionRoute,
  getExecutionRoute,
  listExecutionEventsRoute,
  listExecutionsRoute,
  startExecutionRoute,
  streamExecutionRoute,
} from './executions.ts';
import { healthReadyRoute, healthRoutes } from './health.ts';
import { jwksRoute, openapiRoute, protectedResourceRoute } from './jwks.ts';
import { keyRoutes } from './keys.ts';
import { limitRoutes } from './limits.ts';
import { sealRoutes } from './seal.ts';
import { secretRoutes } from './secrets.ts';
import { stimulusRoutes } from './stimuli.ts';
import { toolRoutes } from './tools.ts';
import { volumeRoutes } from './volumes.ts';
import { workflowRoutes } from './workflows.ts';

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
