import { z } from 'zod';
import { jsonRecord } from './json-record.ts';
import { ToolScope } from './scope.ts';

/** A volume and its path for the agent; `/workspace` is the execution's own volume unless another is mounted there. */
export const ToolMount = z.object({
  volume_id: z.string(),
  mount_path: z.string(),
  read_only: z.boolean(),
  /** The default workspace, created on first use. */
  create: z.boolean().default(false),
});
export type ToolMount = z.output<typeof ToolMount>;

/** The caller in whose name a tool runs. */
export const ToolSubject = z.object({
  /** Null for a caller of `/mcp`, which has no files and no commands. */
  execution_id: z.string().nullable(),
  agent_id: z.string().nullable(),
  /** Session of the audit chain. */
  session_id: z.string(),
  /** The caller whose rate limits apply, from the identity that started the execution. */
  principal: z.object({
    kind: z.enum(['local', 'operator', 'service_account', 'consumer', 'tenant_user', 'actor']),
    subject: z.string(),
    roles: z.array(z.string()),
    tier: z.enum(['free', 'pro', 'business', 'enterprise']),
    /** The subject owns the execution's data and everything that it starts by tools (runtime/identity.ts). */
    confidential: z.literal(true).optional(),
    /** Tenants that a service account may name in a call (runtime/identity.ts). */
    tenants: z.array(z.string()).optional(),
  }),
  mounts: z.array(ToolMount),
  isolation: z.enum(['process', 'docker']),
  /** Container of the running iteration, isolation `docker`. */
  container_id: z.string().optional(),
});
export type ToolSubject = z.output<typeof ToolSubject>;

/** Input of the effect `tool.call`: one allowed call. */
export const ToolRun = z.object({
  tool: z.string(),
  arguments: jsonRecord,
  /** Hash of the pinned offer; if it differs at the time of the call, the call is denied as `ToolChanged`. */
  schema_hash: z.string(),
  server: z.string().optional(),
  subject: ToolSubject,
  /** For checks that the tool repeats while it runs: redirects, links, the tools that `svc.tools.list` shows. */
  scope: ToolScope,
  limits: z.object({
    max_response_bytes: z.number().int().optional(),
    rate_limits: z
      .array(z.object({ key: z.string(), calls: z.number().int(), per_seconds: z.number().int() }))
      .optional(),
    max_concurrent: z.number().int().optional(),
    command: z
      .object({
        timeout_secs: z.number(),
        max_output_bytes: z.number().int(),
        env_denylist: z.array(z.string()),
        max_concurrent: z.number().int(),
      })
      .optional(),
  }),
});
export type ToolRun = z.output<typeof ToolRun>;

/** Meaning of an error for the model or the caller (W28). */
const ERROR_CLASSES = ['fatal', 'policy', 'recoverable'] as const;

/**
 * Result value of the effect and of every recorded call: an MCP tool result. Texts are those of the tool (W30); objects are
 * also `structured`. A result larger than `STORED_ABOVE_BYTES` is stored as a blob: `content` then has its beginning and says
 * so.
 */
export const ToolOutcome = z.object({
  content: z.array(jsonRecord),
  structured: jsonRecord.optional(),
  is_error: z.boolean(),
  error: z
    .object({
      /** A denial reason, an error of a tool (`NOT_FOUND`, W31), or a code of the error table. */
      code: z.string(),
      class: z.enum(ERROR_CLASSES),
      message: z.string(),
      /** For a limit that resets: time until the next attempt. */
      retry_after_ms: z.number().optional(),
    })
    .optional(),
  /** The tenant's blob with the whole `{content, structured}` as JSON. */
  stored: z.object({ ref: z.string(), bytes: z.number().int() }).optional(),
  duration_ms: z.number(),
});
export type ToolOutcome = z.output<typeof ToolOutcome>;

export const STORED_ABOVE_BYTES = 32 * 1024;
