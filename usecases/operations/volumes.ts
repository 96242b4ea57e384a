import { z } from 'zod';
import { STORAGE_EVENTS } from '../ports/volumes.ts';
import { operation } from './operation.ts';
import { nextPageField, pageAsked, pageFields } from './schemas/fields.ts';
import { StorageEventAnswer, VolumeAnswer, VolumeBody, VolumeIdParams } from './schemas/volumes.ts';

const USUAL = 100;

const MOST = 1_000;

const common = { tag: 'volumes', needs: ['volumes'] } as const;

/** Operations on volumes, the storage that outlives a run. REST serves their files by itself, as streams of bytes. */
export const VOLUME_OPERATIONS = [
  operation({
    ...common,
    name: 'volumes.create',
    summary: 'Create a volume',
    description: 'Consumers of a tier above free may, in their own tenant.',
    access: 'write',
    forKeepers: true,
    input: { body: VolumeBody },
    answer: VolumeAnswer,
    rest: { method: 'POST', path: '/v1/volumes', style: 'coded', also: [409, 507] },
    commands: ['volume create'],
    handle: ({ volumes }, { identity, body }) => volumes.create(identity, body),
  }),
  operation({
    ...common,
    name: 'volumes.list',
    summary: 'List volumes',
    description: 'Newest first; those of workflow executions are named EXECUTION/workspace and EXECUTION/shared/NAME.',
    access: 'read',
    input: { query: z.object(pageFields(USUAL, MOST)) },
    answer: z.object({ volumes: z.array(VolumeAnswer), ...nextPageField }),
    rest: { method: 'GET', path: '/v1/volumes', style: 'coded' },
    commands: ['volume list'],
    async handle({ volumes }, { identity, query }) {
      const { items, ...next } = await volumes.list(identity, pageAsked(query, MOST));
      return { volumes: items, ...next };
    },
  }),
  operation({
    ...common,
    name: 'volumes.get',
    summary: 'Show a volume',
    access: 'read',
    input: { params: VolumeIdParams },
    answer: VolumeAnswer,
    rest: { method: 'GET', path: '/v1/volumes/:id', style: 'coded', also: [404] },
    commands: ['volume show'],
    handle: ({ volumes }, { identity, params }) => volumes.get(identity, params.id),
  }),
  operation({
    ...common,
    name: 'volumes.list_events',
    summary: 'List the storage events of a volume',
    description: 'Newest first; the newest 1,000 of a volume are kept. They name paths and sizes, never content.',
    access: 'read',
    input: {
      params: VolumeIdParams,
      query: z.object({
        event: z.enum(STORAGE_EVENTS).optional(),
        path: z.string().min(1).max(1_024).optional().describe('Exactly this path.'),
        ...pageFields(USUAL, MOST),
      }),
    },
    answer: z.object({ events: z.array(StorageEventAnswer), ...nextPageField }),
    rest: { method: 'GET', path: '/v1/volumes/:id/events', style: 'coded', also: [404] },
    commands: ['volume events'],
    async handle({ volumes }, { identity, params, query: { event, path, ...page } }) {
      const asked = pageAsked(page, MOST);
      const { items, ...next } = await volumes.events(identity, params.id, { event, path }, asked);
      return { events: items.map(({ tenant: _tenant, ...shown }) => shown), ...next };
    },
  }),
  operation({
    ...common,
    name: 'volumes.delete',
    summary: 'Delete a volume with its files',
    description: 'While a running execution uses it, it is 409.',
    access: 'write',
    forKeepers: true,
    input: { params: VolumeIdParams },
    answer: z.object({ volume_id: z.string(), deleted: z.literal(true) }),
    rest: { method: 'DELETE', path: '/v1/volumes/:id', style: 'coded', also: [404, 409] },
    commands: ['volume delete'],
    async handle({ volumes }, { identity, params }) {
      await volumes.delete(identity, params.id);
      return { volume_id: params.id, deleted: true as const };
    },
  }),
];
