import { z } from 'zod';
import { refuse } from '../expectation.ts';
import { jsonSchema } from '../json-schema-check.ts';
import { API_VERSION, metadataFields } from '../metadata.ts';
import { besideProblems, keyName, refuseRepeatedNames, stateName } from './fields.ts';
import { schemaFault } from './input.ts';
import { NormalStep } from './state.ts';

export type { StateKind, StateOf, StateSpec } from './state.ts';

const ttlHours = z.number().int().min(1).max(87_600);

const sizeLimitMb = z.number().int().min(1).max(67_108_864);

const Workspace = z
  .strictObject({
    storage_class: z.enum(['ephemeral', 'persistent']).default('ephemeral'),
    /** Time to live, from the start of the workflow. */
    ttl_hours: ttlHours.optional(),
    /** MiB. */
    size_limit_mb: sizeLimitMb.optional(),
  })
  .superRefine((volume, context) => refuseTtl(volume, context), besideProblems);

const SharedVolume = z
  .strictObject({
    name: keyName(128),
    storage_class: z.enum(['ephemeral', 'persistent']),
    ttl_hours: ttlHours.optional(),
    size_limit_mb: sizeLimitMb.optional(),
    /** Id of an existing volume; persistent only. */
    volume_id: z.uuid('expected the UUID of a volume').optional(),
  })
  .superRefine((volume, context) => {
    refuseTtl(volume, context);
    const only = (field: 'size_limit_mb' | 'volume_id', storageClass: 'ephemeral' | 'persistent'): void => {
      if (volume[field] !== undefined && isOther(volume.storage_class, storageClass))
        refuse(context, [field], `only for storage_class ${storageClass}`);
    };
    only('size_limit_mb', 'ephemeral');
    only('volume_id', 'persistent');
  }, besideProblems);

/** An unknown class is reported separately. */
const isOther = (storageClass: string, wanted: 'ephemeral' | 'persistent'): boolean =>
  storageClass === (wanted === 'ephemeral' ? 'persistent' : 'ephemeral');

function refuseTtl(
  volume: { readonly storage_class: string; readonly ttl_hours?: number | undefined },
  context: z.RefinementCtx,
): void {
  if (volume.ttl_hours !== undefined && isOther(volume.storage_class, 'ephemeral'))
    refuse(context, ['ttl_hours'], 'only for storage_class ephemeral');
}

/** `spec.storage` (W4). Without a workspace here every execution has an ephemeral one (W5). */
const WorkflowStorage = z.strictObject({
  workspace: Workspace.optional(),
  shared_volumes: z.array(SharedVolume).max(50).superRefine(refuseRepeatedNames, besideProblems).default([]),
});

/** More would make the actor's state too large for stores. */
const MAX_STATES = 1_000;

const Metadata = z.strictObject({
  ...metadataFields,
  input_schema: jsonSchema
    .superRefine((schema, context) => {
      if (schema.type !== 'object') refuse(context, ['type'], 'expected type: object');
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
 * Workflow manifest v1.0 to v1.2 (W1). The input side is the YAML document; the output side has every default filled
 * in, durations as `…_ms` and sizes as `…_bytes`. Unknown keys are errors. `parseWorkflowManifest` also checks
 * references between parts (a target that is not a state).
 */
export const WorkflowManifestSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('Workflow'),
  metadata: Metadata,
  spec: Spec,
});

/** The normalised manifest: what the catalog stores and a workflow runs. */
export type WorkflowManifest = z.output<typeof WorkflowManifestSchema>;
