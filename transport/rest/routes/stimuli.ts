import { z } from 'zod';
import type { StimulusRoutes } from '../../../catalog/api.ts';
import { CallerHeaders, pageAsked, pageFields } from '../../../usecases/operations/schemas/fields.ts';
import {
  RemovedRoute,
  SourceParams,
  StimulusAnswer,
  StimulusBody,
  StimulusIdParams,
  StimulusList,
  StimulusRecord,
  StimulusRoute,
  StimulusRouteBody,
  StimulusRouteList,
} from '../../../usecases/operations/schemas/stimuli.ts';
import type { StimulusApi } from '../../../usecases/stimuli.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf, hasBegun } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { answerStimulusError, duplicateSchema, ingestWebhookRoute } from './webhooks.ts';

/** /v1/stimuli and /v1/webhooks, as far as the node has the parts for them. */
export function stimulusRoutes(app: RestApp, { stimuli, stimulusRoutes: routes, webhooks, limits }: RestParts): void {
  if (stimuli === undefined) return;
  for (const route of [ingestStimulusRoute, listStimuliRoute, getStimulusRoute]) route(app, stimuli);
  if (webhooks !== undefined) ingestWebhookRoute(app, { stimuli, webhooks, limits });
  if (routes === undefined) return;
  for (const route of [listRoutesRoute, putRouteRoute, removeRouteRoute]) route(app, routes);
}

const ingestStimulusSchema = {
  tags: ['stimuli'],
  summary: 'Route a stimulus to a workflow and start it',
  description: 'Answers when the workflow execution is durably started.',
  headers: CallerHeaders,
  body: StimulusBody,
  response: {
    200: StimulusAnswer,
    ...problemSchemas({ style: 'coded', hasBody: true, also: [422] }),
    ...duplicateSchema,
  },
};

/** POST /v1/stimuli (H22). */
function ingestStimulusRoute(app: RestApp, stimuli: StimulusApi): void {
  const options = {
    config: { access: 'run' as const },
    schema: ingestStimulusSchema,
    errorHandler: answerStimulusError,
  };
  app.post('/v1/stimuli', options, async (request) => {
    const { source, content, idempotency_key: key } = request.body;
    const { trace } = request;
    return stimuli.ingest(
      {
        source,
        content,
        headers: {},
        identity: callerOf(request),
        ...(key === undefined ? {} : { idempotencyKey: key }),
      },
      { trace, onBegun: () => hasBegun(request) },
    );
  });
}

const getStimulusSchema = {
  tags: ['stimuli'],
  summary: 'Show what became of a stimulus',
  headers: CallerHeaders,
  params: StimulusIdParams,
  response: { 200: StimulusRecord, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/stimuli/{id}. */
function getStimulusRoute(app: RestApp, stimuli: StimulusApi): void {
  app.get('/v1/stimuli/:id', { config: { access: 'read' }, schema: getStimulusSchema }, async (request) =>
    stimuli.get(callerOf(request).tenant, request.params.id.toLowerCase()),
  );
}

const MOST = 1_000;

const listStimuliSchema = {
  tags: ['stimuli'],
  summary: 'List stimuli, newest first',
  headers: CallerHeaders,
  querystring: z.object(pageFields(20, MOST)),
  response: { 200: StimulusList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/stimuli. */
function listStimuliRoute(app: RestApp, stimuli: StimulusApi): void {
  app.get('/v1/stimuli', { config: { access: 'read' }, schema: listStimuliSchema }, async (request) => {
    const { items, ...next } = await stimuli.list(callerOf(request).tenant, pageAsked(request.query, MOST));
    return { stimuli: items, ...next };
  });
}

const listRoutesSchema = {
  tags: ['stimuli'],
  summary: 'List the direct routes from sources to workflows',
  headers: CallerHeaders,
  response: { 200: StimulusRouteList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/stimuli/routes. */
function listRoutesRoute(app: RestApp, routes: StimulusRoutes): void {
  app.get('/v1/stimuli/routes', { config: { access: 'read' }, schema: listRoutesSchema }, async (request) => ({
    routes: await routes.list(callerOf(request).tenant),
  }));
}

const putRouteSchema = {
  tags: ['stimuli'],
  summary: 'Route a source to a workflow, instead of where it went before',
  headers: CallerHeaders,
  params: SourceParams,
  body: StimulusRouteBody,
  response: { 200: StimulusRoute, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** PUT /v1/stimuli/routes/{source}. */
function putRouteRoute(app: RestApp, routes: StimulusRoutes): void {
  app.put('/v1/stimuli/routes/:source', { config: { access: 'write' }, schema: putRouteSchema }, async (request) =>
    routes.put(callerOf(request), request.params.source, request.body.workflow),
  );
}

const removeRouteSchema = {
  tags: ['stimuli'],
  summary: 'Remove a direct route',
  description: 'One of the settings of the node is 409: it is removed there.',
  headers: CallerHeaders,
  params: SourceParams,
  response: { 200: RemovedRoute, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** DELETE /v1/stimuli/routes/{source}. */
function removeRouteRoute(app: RestApp, routes: StimulusRoutes): void {
  app.delete(
    '/v1/stimuli/routes/:source',
    { config: { access: 'write' }, schema: removeRouteSchema },
    async (request) => {
      const source = request.params.source.toLowerCase();
      await routes.remove(callerOf(request).tenant, source);
      return { source, removed: true as const };
    },
  );
}
