import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import { operationRoutes } from '../operations.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { deployAgentRoute, exportAgentRoute, validateAgentRoute } from './agents.ts';
import { clusterRoutes } from './cluster.ts';
import { dashboardRoutes } from './dashboard.ts';
import { executeRoutes, generateRoutes } from './execute.ts';
import { streamExecutionRoute } from './executions.ts';
import { feedRoute } from './feed.ts';
import { jwksRoute, openapiRoute, protectedResourceRoute } from './jwks.ts';
import { sealRoutes } from './seal.ts';
import { stimulusRoutes } from './stimuli.ts';
import { tapRoute } from './tap.ts';
import { toolRoutes } from './tools.ts';
import { traceRoutes } from './traces.ts';
import { volumeFileRoutes } from './volume-files.ts';
import { workflowRoutes } from './workflows.ts';

const Alive = z.object({ status: z.literal('ok') }).meta({ id: 'Alive' });

const healthSchema = {
  tags: ['health'],
  summary: 'The process runs',
  security: [],
  response: { 200: Alive, ...problemSchemas({ style: 'coded', isPublic: true }) },
};

/** GET /health (H5) and its alias for orchestrators: the process runs. */
function healthRoutes(app: RestApp): void {
  for (const [operationId, url] of Object.entries({ 'health.get': '/health', 'health.live': '/health/live' })) {
    app.get(url, { config: { access: 'public' }, schema: { ...healthSchema, operationId } }, async () => ({
      status: 'ok' as const,
    }));
  }
}

const healthReadySchema = {
  operationId: 'health.ready',
  tags: ['health'],
  summary: 'The node can serve calls',
  security: [],
  response: {
    200: z.object({ status: z.literal('ready') }),
    ...problemSchemas({ style: 'coded', isPublic: true, also: [503] }),
  },
};

/** GET /health/ready: answers 503 while a part that the node needs is unavailable or the node drains. */
function healthReadyRoute(app: RestApp, { health }: RestParts): void {
  app.get('/health/ready', { config: { access: 'public' }, schema: healthReadySchema }, async () => {
    const { ready, why } = await health.ready();
    if (!ready) throw new SvcError('unavailable', why ?? 'The node is not ready.');
    return { status: 'ready' as const };
  });
}

/**
 * All routes of the REST API: the table of operations, and the routes that do not fit one request with one JSON answer.
 */
const ROUTES: readonly ((app: RestApp, parts: RestParts) => void)[] = [
  healthRoutes,
  healthReadyRoute,
  operationRoutes,
  deployAgentRoute,
  exportAgentRoute,
  validateAgentRoute,
  streamExecutionRoute,
  generateRoutes,
  executeRoutes,
  workflowRoutes,
  feedRoute,
  stimulusRoutes,
  clusterRoutes,
  volumeFileRoutes,
  sealRoutes,
  toolRoutes,
  traceRoutes,
  tapRoute,
  jwksRoute,
  protectedResourceRoute,
  openapiRoute,
  dashboardRoutes,
];

export function addRoutes(app: RestApp, parts: RestParts): void {
  for (const route of ROUTES) route(app, parts);
}
