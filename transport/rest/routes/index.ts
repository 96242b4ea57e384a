import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import type { Operation } from '../../../usecases/operations/operation.ts';
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import { OPERATIONS } from '../../../usecases/operations.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf, keyedCallerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { clusterRoutes } from './cluster.ts';
import { dashboardRoutes } from './dashboard.ts';
import { executeRoutes, generateRoutes } from './execute.ts';
import { streamExecutionRoute, streamWorkflowRoutes } from './execution-streams.ts';
import { feedRoute } from './feed.ts';
import { jwksRoute, openapiRoute, protectedResourceRoute } from './jwks.ts';
import { agentManifestRoutes, workflowManifestRoutes } from './manifests.ts';
import { sealRoutes } from './seal.ts';
import { stimulusRoutes } from './stimuli.ts';
import { tapRoute } from './tap.ts';
import { toolRoutes } from './tools.ts';
import { traceRoutes } from './traces.ts';
import { volumeFileRoutes } from './volume-files.ts';

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
  agentManifestRoutes,
  streamExecutionRoute,
  generateRoutes,
  executeRoutes,
  workflowManifestRoutes,
  streamWorkflowRoutes,
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

/** Adds a route for every operation of the table whose use cases this node has. */
function operationRoutes(app: RestApp, parts: RestParts): void {
  for (const operation of OPERATIONS) {
    // A node that only shows a recording refuses all that change something, whatever it has.
    const isRefused = parts.recording !== undefined && operation.access !== 'read';
    if (isRefused || operation.needs.every((need) => parts[need] !== undefined)) serve(app, parts, operation);
  }
}

function serve(app: RestApp, parts: RestParts, operation: Operation): void {
  const { name, tag, summary, description, access, scope, forKeepers, input, answer } = operation;
  const { method, path, style, texts, also, starts } = operation.rest;
  const { params, query, body, headers = CallerHeaders } = input;
  app.route({
    method,
    url: path,
    config: { access, problems: style, scope, texts, forKeepers, starts },
    schema: {
      operationId: name,
      tags: [tag],
      summary,
      description,
      headers,
      // The framework warns of a part that is there and undefined.
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { querystring: query }),
      ...(body === undefined ? {} : { body }),
      response: {
        200: answer,
        ...problemSchemas({ style, hasBody: method !== 'GET', also: also ?? [] }),
      },
    },
    handler: (request) =>
      operation.handle(parts, {
        params: request.params,
        query: request.query,
        headers: request.headers,
        body: request.body,
        identity: callerOf(request),
        caller: keyedCallerOf(request),
        trace: request.trace,
      }),
  });
}
