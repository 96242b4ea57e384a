import { z } from 'zod';
import { operation } from './operation.ts';
import { pageAsked, pageFields } from './schemas/fields.ts';
import {
  RemovedRoute,
  SourceParams,
  StimulusIdParams,
  StimulusList,
  StimulusRecord,
  StimulusRoute,
  StimulusRouteBody,
  StimulusRouteList,
} from './schemas/stimuli.ts';

const MOST = 1_000;

const stimuli = { tag: 'stimuli', needs: ['stimuli'], access: 'read' } as const;

const routes = { tag: 'stimuli', needs: ['stimuli', 'stimulusRoutes'] } as const;

/**
 * Operations on stimuli, which are events from outside, and on their routes (H22). Sending a stimulus is a route of
 * REST alone, since its answer to a duplicate names the first delivery.
 */
export const STIMULUS_OPERATIONS = [
  operation({
    ...stimuli,
    name: 'stimuli.list',
    summary: 'List stimuli, newest first',
    input: { query: z.object(pageFields(20, MOST)) },
    answer: StimulusList,
    rest: { method: 'GET', path: '/v1/stimuli', style: 'coded' },
    commands: ['stimulus list'],
    async handle({ stimuli: received }, { identity, query }) {
      const { items, ...next } = await received.list(identity.tenant, pageAsked(query, MOST));
      return { stimuli: items, ...next };
    },
  }),
  operation({
    ...stimuli,
    name: 'stimuli.get',
    summary: 'Show a stimulus with its outcome',
    input: { params: StimulusIdParams },
    answer: StimulusRecord,
    rest: { method: 'GET', path: '/v1/stimuli/:id', style: 'coded', also: [404] },
    handle: ({ stimuli: received }, { identity, params }) => received.get(identity.tenant, params.id),
  }),
  operation({
    ...routes,
    name: 'stimuli.list_routes',
    summary: 'List the direct routes from sources to workflows',
    access: 'read',
    input: {},
    answer: StimulusRouteList,
    rest: { method: 'GET', path: '/v1/stimuli/routes', style: 'coded' },
    commands: ['stimulus route list'],
    handle: async ({ stimulusRoutes }, { identity }) => ({ routes: await stimulusRoutes.list(identity.tenant) }),
  }),
  operation({
    ...routes,
    name: 'stimuli.put_route',
    summary: 'Route a source to a workflow; replaces an earlier route',
    access: 'write',
    input: { params: SourceParams, body: StimulusRouteBody },
    answer: StimulusRoute,
    rest: { method: 'PUT', path: '/v1/stimuli/routes/:source', style: 'coded', also: [409] },
    commands: ['stimulus route add'],
    handle: ({ stimulusRoutes }, { identity, params, body }) =>
      stimulusRoutes.put(identity, params.source, body.workflow),
  }),
  operation({
    ...routes,
    name: 'stimuli.remove_route',
    summary: 'Remove a direct route',
    description: 'A route from the settings of the node is 409: remove it there.',
    access: 'write',
    input: { params: SourceParams },
    answer: RemovedRoute,
    rest: { method: 'DELETE', path: '/v1/stimuli/routes/:source', style: 'coded', also: [404, 409] },
    commands: ['stimulus route remove'],
    async handle({ stimulusRoutes }, { identity, params }) {
      const source = params.source.toLowerCase();
      await stimulusRoutes.remove(identity.tenant, source);
      return { source, removed: true as const };
    },
  }),
];
