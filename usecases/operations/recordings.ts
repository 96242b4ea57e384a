import { z } from 'zod';
import { operation } from './operation.ts';
import { ExecutionIdParams } from './schemas/fields.ts';

const RunRecording = z
  .object({
    head: z.looseObject({}).describe('First line of the recording: version, settings and trace, without secrets.'),
    actors: z.array(z.string()).readonly().describe('Actors of its trace, kind/tenant/id; the run is the first.'),
  })
  .meta({ id: 'RunRecording' });

const ActorRecording = z
  .object({
    lines: z.array(z.looseObject({})).readonly(),
    next: z.string().nullable().describe('For `?next=`; null at the end.'),
  })
  .meta({ id: 'ActorRecording' });

const ActorParams = z.object({
  kind: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected the kind of an actor'),
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected the id of an actor'),
});

const common = { tag: 'traces', access: 'read', needs: ['recordings'] } as const;

/** Operations behind `svc replay` and `svc export-run`. */
export const RECORDING_OPERATIONS = [
  operation({
    ...common,
    name: 'recordings.run',
    summary: 'Begin the recording of a run',
    description: 'The first line of the file, and the actors whose lines follow.',
    input: { params: ExecutionIdParams },
    answer: RunRecording,
    rest: {
      method: 'GET',
      path: '/v1/runs/:id/recording',
      style: 'coded',
      texts: { notFound: 'run not found' },
      also: [404, 409],
    },
    commands: ['export-run', 'replay'],
    handle: ({ recordings }, { identity, params }) => recordings.run(identity, params.id),
  }),
  operation({
    ...common,
    name: 'recordings.actor',
    summary: 'Read the recorded lines of an actor',
    description: 'Its state and events, then its deliveries with their messages, without secrets, page by page.',
    input: { params: ActorParams, query: z.object({ next: z.string().min(1).max(8_192).optional() }) },
    answer: ActorRecording,
    rest: {
      method: 'GET',
      path: '/v1/actors/:kind/:id/recording',
      style: 'coded',
      texts: { notFound: 'actor not found' },
      also: [404, 409],
    },
    handle({ recordings }, { identity, params, query }) {
      return recordings.actor(identity, params.kind, params.id, query.next);
    },
  }),
];
