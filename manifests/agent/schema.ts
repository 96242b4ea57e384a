import { z } from 'zod';
import { duration } from '../duration.ts';
import { refuse } from '../expectation.ts';
import { jsonSchema } from '../json-schema-check.ts';
import { API_VERSION, metadataFields } from '../metadata.ts';
import { parseSyntax } from '../template/tree.ts';
import { AgentContext } from './context.ts';
import { AgentSecurity, AgentTools } from './tools.ts';
import { Judge, ListedValidator, ValidationObject, type Validator, validatorsOf } from './validation.ts';
import { AgentVolumes } from './volumes.ts';

export type { Validator } from './validation.ts';

/** Variables that the node sets for every program; a manifest may not replace them (W26). */
const RESERVED = /^SVC_(?!BOOTSTRAP_DEBUG$|KEEP_CONTAINER$)/;

const name = z
  .string()
  .max(256)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected an environment variable name')
  .refine((key) => !RESERVED.test(key), 'names that start with SVC_ are set by the node');

const value = z
  .union([z.string().max(64 * 1024), z.number(), z.boolean()], 'expected text, a number or a boolean')
  .transform(String)
  .refine((text) => !/^(secret|config):\s*$/.test(text), 'expected a name after secret: or config:');

/** `spec.env`: literal | `secret:NAME` | `config:NAME`. References are not resolved here; secrets are never logged. */
const AgentEnv = z.record(name, value).prefault({});

const iterations = z.number().int().min(1).max(20);

/** `spec.execution`: the iteration loop (W22). */
const AgentExecution = z
  .strictObject({
    mode: z.enum(['one-shot', 'iterative']).default('iterative'),
    max_iterations: iterations.optional(),
    max_retries: iterations.optional().describe('Earlier name of max_iterations.'),
    iteration_timeout: duration({ minMs: 1, maxMs: 3_600_000, text: 'at most 1h' }).prefault('300s'),
    llm_timeout_seconds: z.number().int().min(1).max(3_600).default(300),
    memory: z.boolean().default(false),
    validation: z.union([z.array(ListedValidator).max(20), ValidationObject]).default([]),
    tool_validation: z.array(Judge).max(20).default([]),
    target_tags: z
      .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,62}$/, 'expected a tag such as gpu or zone:eu'))
      .max(32)
      .default([]),
  })
  .superRefine((execution, context) => {
    if (execution.max_iterations !== undefined && execution.max_retries !== undefined)
      refuse(context, ['max_retries'], 'max_retries is the older name of max_iterations: give one of the two');
  })
  .transform(({ max_iterations, max_retries, iteration_timeout, ...rest }) => ({
    ...rest,
    max_iterations: rest.mode === 'one-shot' ? 1 : (max_iterations ?? max_retries ?? 10),
    iteration_timeout_ms: iteration_timeout,
  }));

/** `spec.runtime`: where the agent's program runs and which model it talks to (W22). */
const AgentRuntime = z
  .strictObject({
    language: z.enum(['python', 'javascript', 'typescript', 'rust', 'go']).optional(),
    version: z
      .string('expected text; write the version in quotes, such as "3.11"')
      .regex(/^[0-9]+(\.[0-9]+){0,2}$/, 'expected a language version such as "3.11"')
      .max(20)
      .optional(),
    image: z
      .string()
      .max(512)
      .regex(/^[^\s/]+(\/[^\s/]+)+$/, 'expected a fully named image that contains "/", such as ghcr.io/org/agent:1')
      .optional(),
    image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
    isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).default('inherit'),
    model: z.string().min(1).max(100).default('default'),
    temperature: z.number().min(0).max(2).optional(),
  })
  .superRefine((runtime, context) => {
    const report = (field: string, message: string) => refuse(context, [field], message);
    if (runtime.image !== undefined) {
      if (runtime.language !== undefined) report('language', 'image excludes language: keep one of the two');
      if (runtime.version !== undefined) report('version', 'image excludes version: keep one of the two');
      return;
    }
    if (runtime.language !== undefined && runtime.version === undefined)
      report('version', 'language needs version: give both or none');
    if (runtime.version !== undefined && runtime.language === undefined)
      report('language', 'version needs language: give both or none');
  });

/** `spec.schedule` (W22). */
const AgentSchedule = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('cron'),
    cron: z
      .string()
      .regex(/^\S+(\s+\S+){4,5}$/, 'expected five or six cron fields such as "0 6 * * *"')
      .max(200),
    timezone: z.string().refine(isTimezone, 'expected a time zone such as Europe/Paris').default('UTC'),
    enabled: z.boolean().default(true),
  }),
  z.strictObject({ type: z.literal('interval'), seconds: z.number().int().min(1).max(31_536_000) }),
  z.strictObject({ type: z.literal('manual') }),
]);

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const Destination = z.strictObject({
  name: z.string().min(1).max(100),
  condition: z.enum(['on_success', 'on_failure', 'always']).default('on_success'),
  type: z.enum(['email', 'webhook', 'rest', 'sms']),
  transform: z
    .strictObject({
      script: z
        .string()
        .min(1)
        .max(64 * 1024),
      args: z.array(z.string().max(4_096)).max(100).default([]),
      timeout_seconds: z.number().int().min(1).max(3_600).default(300),
    })
    .optional(),
  /** Options of the type: addresses, URL, headers. */
  config: z.record(z.string(), z.json()).default({}),
});

/** `spec.delivery` (W22). */
const AgentDelivery = z.strictObject({ destinations: z.array(Destination).max(20).default([]) });

/** `spec.advanced` (W22). `bootstrap_path` names the program that is the agent. */
const AgentAdvanced = z.strictObject({
  warm_pool_size: z.number().int().min(0).max(100).default(0),
  startup_script: z
    .string()
    .min(1)
    .max(64 * 1024)
    .optional(),
  health_check: z.record(z.string(), z.json()).optional(),
  bootstrap_path: z.string().min(1).max(1_024).optional(),
});

const MAX_TEXT = 256 * 1024;

/** The time of the Handlebars parser grows faster than the number of open blocks: 28,000 took minutes. */
const MAX_EXPRESSIONS = 1_000;

const template = z
  .string()
  .max(MAX_TEXT)
  .superRefine((text, context) => {
    if (text.split('{{').length - 1 > MAX_EXPRESSIONS) {
      context.addIssue({ code: 'custom', message: `expected at most ${MAX_EXPRESSIONS} template expressions` });
      return;
    }
    try {
      parseSyntax(text);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message.split('\n')[0] : 'it does not parse';
      context.addIssue({ code: 'custom', message: `expected a Handlebars template: ${reason}` });
    }
  });

/** `spec.task`: the agent's task (W22). `prompt_template` is Handlebars without HTML escaping. */
const AgentTask = z.strictObject({
  instruction: z.string().max(MAX_TEXT).optional(),
  prompt_template: template.optional(),
  input_data: z.record(z.string(), z.json()).default({}),
  agentskills: z
    .array(z.string().regex(/^[a-z0-9-]+:[a-z0-9-]+$/, 'expected namespace:skill'))
    .max(50)
    .default([]),
});

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
 * Agent manifest v1 (W22). The input side is the YAML document; the output side has every default filled in, durations
 * as `…_ms`, sizes as `…_bytes` and validators as one list. Unknown keys are errors.
 */
export const AgentManifestSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('Agent'),
  metadata: Metadata,
  spec: Spec,
});

/** The normalised manifest: what the catalog stores and an execution runs. */
export type AgentManifest = z.output<typeof AgentManifestSchema>;

/** Key under which the schema is served (W41). */
export const AGENT_MANIFEST_KEY = 'agent/manifest/v1';

let made: Readonly<Record<string, unknown>> | null = null;

/**
 * JSON Schema (draft 2020-12) of the document that users write, derived from the schema that validates it. Built once.
 */
export function agentJsonSchema(): Readonly<Record<string, unknown>> {
  made ??= { title: 'Agent manifest v1', ...z.toJSONSchema(AgentManifestSchema, { io: 'input' }) };
  return made;
}
