import { z } from 'zod';
import { API_VERSION } from '../api-version.ts';
import { jsonSchema } from '../json-schema-check.ts';
import { metadataFields } from '../metadata.ts';
import { besideProblems, keyName, stateName } from './fields.ts';
import { schemaFault } from './input.ts';
import { NormalStep } from './state.ts';
import { WorkflowStorage } from './storage.ts';

export type { StateKind, StateOf, StateSpec } from './state.ts';

/** More would make a state of the actor that no store likes. */
const MAX_STATES = 1_000;

const Metadata = z.strictObject({
  ...metadataFields,
  input_schema: jsonSchema
    .superRefine((schema, context) => {
      if (schema.type !== 'object')
        context.addIssue({ code: 'custom', path: ['type'], message: 'expected type: object' });
    }, besideProblems)
    .superRefine((schema, context) => {
      const fault = schemaFault(schema);
      if (fault !== null) context.addIssue({ code: 'custom', message: `expected a JSON Schema: ${fault}` });
    })
    .optional(),
});

const Spec = z.strictObject({
  initial_state: stateName,
  context: z.record(keyName(256), z.json()).default({}),
  storage: WorkflowStorage.prefault({}),
  states: z
    .record(stateName, NormalStep)
    .refine((states) => Object.keys(states).length > 0, { error: 'expected at least one state', ...besideProblems })
    .refine((states) => Object.keys(states).length <= MAX_STATES, {
      error: `expected at most ${MAX_STATES} states`,
      ...besideProblems,
    }),
});

/**
 * Workflow manifest v1.0 to v1.2 (spec 3). The input side is the YAML document; the output side has every default
 * filled in, durations as `…_ms` and sizes as `…_bytes`. Unknown keys are errors. What one part says of another (a
 * target that is no state) is checked in `cross-references.ts`: `parseWorkflowManifest` does both.
 */
export const WorkflowManifestSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('Workflow'),
  metadata: Metadata,
  spec: Spec,
});

/** The normalised manifest: what the catalog stores and a workflow runs. */
export type WorkflowManifest = z.output<typeof WorkflowManifestSchema>;
