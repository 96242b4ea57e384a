import { z } from 'zod';
import { manifestName, manifestVersion } from '../agent/schema.ts';
import { API_VERSION } from '../api-version.ts';
import { jsonSchema } from '../json-schema-check.ts';
import { NormalStep } from './state.ts';
import { WorkflowStorage } from './storage.ts';

export type { StateKind, StateOf, StateSpec } from './state.ts';

const texts = z.record(z.string().min(1).max(256), z.string('expected text; put it in quotes').max(4_096)).default({});
const stateName = z.string().min(1).max(128);
/** More would make a state of the actor that no store likes. */
const MAX_STATES = 1_000;

const Metadata = z.strictObject({
  name: manifestName,
  version: manifestVersion,
  description: z.string().max(4_096).default(''),
  labels: texts,
  annotations: texts,
  input_schema: jsonSchema
    .refine((schema) => schema.type === 'object', { path: ['type'], message: 'expected type: object' })
    .optional(),
});

const Spec = z
  .strictObject({
    initial_state: stateName,
    context: z.record(z.string().min(1).max(256), z.json()).default({}),
    storage: WorkflowStorage.prefault({}),
    states: z
      .record(stateName, NormalStep)
      .refine((states) => Object.keys(states).length > 0, 'expected at least one state')
      .refine((states) => Object.keys(states).length <= MAX_STATES, `expected at most ${MAX_STATES} states`),
  })
  .superRefine(({ initial_state, states }, context) => {
    const known = (name: string): boolean => Object.hasOwn(states, name);
    if (!known(initial_state))
      context.addIssue({ code: 'custom', path: ['initial_state'], message: 'expected the name of a state' });
    for (const [name, state] of Object.entries(states)) {
      state.transitions.forEach(({ target }, index) => {
        if (!known(target))
          context.addIssue({
            code: 'custom',
            path: ['states', name, 'transitions', index, 'target'],
            message: `expected the name of a state, got ${JSON.stringify(target)}`,
          });
      });
    }
  });

/**
 * Workflow manifest v1.0 to v1.2 (spec 3). The input side is the YAML document; the output side has every default
 * filled in, durations as `…_ms` and sizes as `…_bytes`. Unknown keys are errors.
 */
export const WorkflowManifestSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('Workflow'),
  metadata: Metadata,
  spec: Spec,
});

/** The normalised manifest: what the catalog stores and a workflow runs. */
export type WorkflowManifest = z.output<typeof WorkflowManifestSchema>;
