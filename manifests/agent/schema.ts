import { z } from 'zod';
import { API_VERSION } from '../api-version.ts';
import { jsonSchema } from '../json-schema-check.ts';
import { metadataFields } from '../metadata.ts';
import { AgentEnv } from './environment.ts';
import { AgentExecution } from './execution.ts';
import { AgentRuntime } from './runtime.ts';
import { AgentAdvanced, AgentDelivery, AgentSchedule } from './schedule.ts';
import { AgentSecurity } from './security.ts';
import { AgentContext, AgentTask } from './task.ts';
import { AgentTools } from './tools.ts';
import { type Validator, validatorsOf } from './validation.ts';
import { AgentVolumes } from './volumes.ts';

export type { Validator } from './validation.ts';

const Metadata = z.strictObject({
  ...metadataFields,
  input_schema: jsonSchema.optional(),
});

const Spec = z
  .strictObject({
    runtime: AgentRuntime.prefault({}),
    task: AgentTask.prefault({}),
    context: AgentContext,
    execution: AgentExecution.prefault({}),
    security: AgentSecurity.prefault({}),
    tools: AgentTools,
    env: AgentEnv,
    volumes: AgentVolumes,
    schedule: AgentSchedule.optional(),
    delivery: AgentDelivery.prefault({}),
    advanced: AgentAdvanced.prefault({}),
    security_context: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,126}$/, 'expected the name of a security context')
      .optional(),
  })
  .transform(({ execution, ...spec }) => {
    const { validation, ...rest } = execution;
    const hasInstruction = spec.task.instruction !== undefined && spec.task.instruction !== '';
    const list: Validator[] = Array.isArray(validation) ? validation : validatorsOf(validation, hasInstruction);
    return { ...spec, execution: { ...rest, validation: list } };
  });

/**
 * Agent manifest v1 (decided.md; original-facts 2). The input side is the YAML document; the output side has every
 * default filled in, durations as `…_ms`, sizes as `…_bytes` and validators as one list. Unknown keys are errors.
 */
export const AgentManifestSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('Agent'),
  metadata: Metadata,
  spec: Spec,
});

/** The normalised manifest: what the catalog stores and an execution runs. */
export type AgentManifest = z.output<typeof AgentManifestSchema>;
