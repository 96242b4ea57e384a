import { z } from 'zod';
import { ContextEntry } from '../../manifests/agent/context.ts';
import { GrantRequest } from '../../manifests/tool/scope.ts';
import { jsonObjectField } from '../../runtime/json.ts';

const ResultCheck = z.discriminatedUnion('type', [
  z.object({ type: z.literal('exit_code'), expected: z.number().int(), min_score: z.number() }),
  z.object({ type: z.literal('json_schema'), schema: jsonObjectField, min_score: z.number() }),
  z.object({
    type: z.literal('regex'),
    pattern: z.string(),
    target: z.enum(['stdout', 'stderr']),
    min_score: z.number(),
  }),
  z.object({ type: z.literal('stderr_empty'), min_score: z.number() }),
  z.object({ type: z.literal('tool_call'), tool: z.string(), min_score: z.number() }),
  z.object({
    type: z.literal('output_format'),
    format: z.enum(['json', 'yaml', 'text', 'csv', 'pdf']),
    min_score: z.number(),
  }),
]);

/** Decided within the turn. */
export type ResultCheck = z.infer<typeof ResultCheck>;

/** A panel of agents judges; `semantic` is a panel of one. */
export const PanelCheck = z.object({
  type: z.enum(['semantic', 'multi_judge']),
  /** Names or UUIDs of agents. */
  judges: z.array(z.string()).min(1),
  criteria: z.string(),
  consensus: z.enum(['weighted_average', 'majority', 'unanimous', 'best_of_n']),
  min_judges_required: z.number().int(),
  min_score: z.number(),
  min_confidence: z.number(),
  timeout_ms: z.number().int().positive(),
});

export type PanelCheck = z.infer<typeof PanelCheck>;

/** A model judges (object form `semantic`). */
const ModelCheck = z.object({
  type: z.literal('semantic_prompt'),
  model: z.string(),
  /** Null: the default prompt. */
  prompt: z.string().nullable(),
  min_score: z.number(),
  timeout_ms: z.number().int().positive(),
  /** Result of the check when the model cannot be asked: passed or failed. */
  fallback: z.enum(['skip', 'fail']),
});

export type ModelCheck = z.infer<typeof ModelCheck>;

const filePath = z.string().startsWith('/');

/** Checks files of the workspace, which an effect reads. Paths are absolute. */
const FileCheck = z.discriminatedUnion('type', [
  z.object({ type: z.literal('file_regex'), pattern: z.string(), path: filePath, min_score: z.number() }),
  z.object({
    type: z.literal('file_schema'),
    /** The schema, or the file that has it. */
    schema: z.union([jsonObjectField, filePath]),
    /** Null: the output is checked instead. */
    target_path: filePath.nullable(),
    min_score: z.number(),
  }),
]);

export type FileCheck = z.infer<typeof FileCheck>;

/** A script of the workspace decides by its exit code (object form `script`). */
const ScriptCheck = z.object({
  type: z.literal('script'),
  /** Absolute; in a container it may be a file of the image. */
  path: filePath,
  timeout_ms: z.number().int().positive(),
  min_score: z.number(),
});

export type ScriptCheck = z.infer<typeof ScriptCheck>;

/** One check of an iteration's result, in the order of the manifest (W23). */
export const ResultValidator = z.discriminatedUnion('type', [
  ResultCheck,
  PanelCheck,
  ModelCheck,
  FileCheck,
  ScriptCheck,
]);

export type ResultValidator = z.infer<typeof ResultValidator>;

/** A check whose verdict comes from an effect or another actor. */
export type AskedCheck = Exclude<ResultValidator, ResultCheck>;

export const isAsked = (validator: ResultValidator): validator is AskedCheck =>
  needsPanel(validator) || validator.type === 'semantic_prompt' || looksAtFiles(validator);

const looksAtFiles = (validator: ResultValidator): validator is FileCheck | ScriptCheck =>
  validator.type === 'file_regex' || validator.type === 'file_schema' || validator.type === 'script';

export const needsPanel = (validator: ResultValidator): validator is PanelCheck =>
  validator.type === 'semantic' || validator.type === 'multi_judge';

const ContainerPlan = z.object({
  /** Either image or language is given, or neither, which means the node's default image. */
  image: z.string().nullable(),
  language: z.string().nullable(),
  version: z.string().nullable(),
  image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']),
  /** Null: the node's own bootstrap. */
  bootstrap_path: z.string().nullable(),
  env: z.record(z.string(), z.string()),
  cpu_millicores: z.number().int(),
  memory_bytes: z.number().int(),
  disk_bytes: z.number().int(),
  /** `open` only where the manifest allows everything, since no engine enforces lists of domains. */
  network: z.enum(['none', 'open']),
});

export type ContainerPlan = z.infer<typeof ContainerPlan>;

/**
 * The parts of a manifest that an execution needs while it runs. Smaller than the manifest, because every turn writes the plan.
 */
export const ExecutionPlan = z.object({
  instruction: z.string(),
  /** Null: the default template. */
  prompt_template: z.string().nullable(),
  agentskills: z.array(z.string()),
  /** Text of `spec.context`; empty where the state has it (`context_text`). */
  context: z.string(),
  /** All of `spec.context`, where files, directories or URLs of it are read before the first prompt. */
  context_entries: z.array(ContextEntry).optional(),
  model: z.string(),
  temperature: z.number().nullable(),
  llm_timeout_seconds: z.number().int(),
  max_iterations: z.number().int().min(1),
  iteration_timeout_ms: z.number().int().positive(),
  execution_timeout_ms: z.number().int().positive(),
  /** Whether patterns are queried after a failure, and stored after a success that follows one; absent: no. */
  memory: z.boolean().optional(),
  validators: z.array(ResultValidator),
  /** Judges of proposed tool calls, in the order they are asked (`tool_validation`). */
  tool_checks: z.array(PanelCheck),
  /** The requested grant; an empty list in the manifest requests no tools. */
  tools: GrantRequest,
  /** Isolation `docker`. Null: the agent runs on this host. */
  container: ContainerPlan.nullable(),
  /** The agent's program on the host. Null for a container, and where the loop runs in the node. */
  program: z
    .object({
      path: z.string(),
      /** Values are literals or references (`secret:NAME`), never resolved here. */
      env: z.record(z.string(), z.string()),
      cpu_millicores: z.number().int(),
      memory_bytes: z.number().int(),
      /** Annotation `svc.dev/on-in-doubt`. */
      on_in_doubt: z.enum(['retry', 'fail']),
    })
    .nullable(),
});

export type ExecutionPlan = z.infer<typeof ExecutionPlan>;

export const wantsTools = ({ tools }: ExecutionPlan): boolean => (tools.manifest ?? []).length > 0;

/** Whether the execution's files are used by anything besides its own program. */
export const usesWorkspace = (plan: ExecutionPlan): boolean =>
  wantsTools(plan) || plan.container !== null || plan.validators.some(looksAtFiles);

/** The node drives the loop itself: no program and no container. */
export const runsInNode = ({ program, container }: ExecutionPlan): boolean => program === null && container === null;

/** An agent's own bootstrap decides what is streamed and what the output is. */
export const hasOwnBootstrap = ({ program, container }: ExecutionPlan): boolean =>
  program !== null || (container !== null && container.bootstrap_path !== null);

/** uint64 arrives as a number or, from protobuf JSON, as decimal text. Zero means "not given" in protobuf. */
const amount = z.union([
  z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER),
  z
    .string()
    .regex(/^\d{1,15}$/, 'expected a whole number')
    .transform(Number),
]);

/** Lists of names; an empty list means "not given" in protobuf. */
const rules = (...fields: readonly string[]) =>
  z.strictObject(Object.fromEntries(fields.map((field) => [field, z.array(z.string()).default([])]))).nullish();

/**
 * gRPC SecurityPolicy as JSON (G7). Resource limits apply to the execution; network and filesystem rules apply to its tools. A
 * policy grants nothing, and a program on which it cannot be enforced is refused.
 */
export const SecurityPolicy = z.looseObject({
  network_policy: rules('allowed_domains', 'blocked_domains'),
  filesystem_policy: rules('read_paths', 'write_paths'),
  resource_limits: z
    .looseObject({
      cpu_millicores: amount.nullish(),
      memory_bytes: amount.nullish(),
      timeout_seconds: amount.nullish(),
    })
    .nullish(),
});

export type SecurityPolicy = z.output<typeof SecurityPolicy>;

/** The smaller of the manifest's value and the policy's: a policy never widens. */
export function narrow(own: number, given: number | null | undefined): number {
  return given === null || given === undefined || given === 0 ? own : Math.min(own, given);
}

/** A volume of the execution's workflow, and the path at which its program finds it (W4). */
export const Mount = z.object({
  volume_id: z.string().min(1).max(128),
  /** Absolute; isolation `process` has them at or under `/workspace`. */
  mount_path: z.string().startsWith('/').max(4_096),
  read_only: z.boolean(),
  /**
   * Set for volumes of the agent's manifest (`spec.volumes`), of which a fork gets its own; absent: given by the workflow's
   * state.
   */
  of_manifest: z.literal(true).optional(),
});

export type Mount = z.output<typeof Mount>;

export const Mounts = z.array(Mount).max(50);

export const WORKSPACE = '/workspace';
