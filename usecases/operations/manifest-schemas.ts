import { z } from 'zod';
import { agentJsonSchema } from '../../manifests/agent/schema.ts';
import { workflowJsonSchema } from '../../manifests/workflow/json-schema.ts';
import { operation } from './operation.ts';

const SCHEMAS = { agent: agentJsonSchema, workflow: workflowJsonSchema } as const;

const ManifestSchema = z
  .looseObject({ title: z.string(), $schema: z.string() })
  .meta({ id: 'ManifestSchema', description: 'A JSON Schema, draft 2020-12.' });

/** Schemas with which editors complete and check manifests. */
export const MANIFEST_SCHEMA_OPERATIONS = [
  operation({
    tag: 'manifests',
    needs: [],
    name: 'schemas.get',
    summary: 'Read the JSON Schema of a kind of manifest',
    description:
      'It describes the form of one document, as a deploy checks it. Every API key may call this: it holds no data.',
    access: 'read',
    scope: 'any',
    input: { params: z.object({ kind: z.enum(['agent', 'workflow']) }) },
    answer: ManifestSchema,
    rest: { method: 'GET', path: '/v1/schemas/:kind', style: 'coded' },
    commands: ['schema get'],
    async handle(_ports, { params }) {
      return ManifestSchema.parse(SCHEMAS[params.kind]());
    },
  }),
];
