import { z } from 'zod';
import { absolutePath } from '../../manifests/workflow/fields.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Secrets } from '../../security/api.ts';
import { EnvironmentName, RunMs, STRING_LIMIT_BYTES, systemString } from '../../usecases/ports/commands.ts';
import { ImageReference, MountPath } from '../containers/input.ts';
import { Segment } from '../programs/input.ts';

const MiB = 1_048_576;

const Mount = z.object({
  volume_id: z.string().min(1).max(200),
  mount_path: MountPath.refine(
    (path) => !/^\/+(?:svc|run\/+svc)(?:\/|$)/.test(path),
    'expected a path other than /svc and /run/svc, which belong to the node',
  ),
  read_only: z.boolean().default(false),
  /** Creates the volume if it does not exist. */
  create: z.boolean().default(false),
});

/** Input of `agent.container`, as actors/execution/effects.ts makes it: one iteration of an agent. */
export const AgentContainerInput = z.object({
  image: ImageReference.nullish(),
  language: z.string().min(1).max(50).nullish(),
  version: z.string().min(1).max(50).nullish(),
  image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  /** Path in the image; null: the bootstrap of the node. */
  bootstrap_path: absolutePath.nullish(),
  network: z.enum(['none', 'open']).default('none'),
  /** Only /tmp and the exchange can be written. */
  read_only: z.boolean().default(false),
  prompt: z
    .string()
    .max(16 * MiB)
    .refine((value) => !value.includes('\0'), 'a prompt must not hold NUL'),
  /** Values: `secret:NAME`, `config:NAME`, `literal:TEXT`, or the text itself (W22). */
  env: z.record(EnvironmentName, systemString('an environment value')).default({}),
  execution_id: Segment,
  agent_id: z.string().min(1).max(255),
  iteration: z.number().int().min(1),
  mounts: z
    .array(Mount)
    .max(50)
    .default([])
    .refine((mounts) => {
      const paths = mounts.map(({ mount_path }) => mount_path.replace(/\/+/g, '/').replace(/\/$/, ''));
      return new Set(paths).size === paths.length;
    }, 'expected one volume for each path, got two'),
  /** Reports standard output as progress `{text}` while it comes. */
  stream: z.boolean().default(false),
  limits: z.object({
    /** Longest run, counted from the start of the container. */
    timeout_ms: RunMs,
    memory_bytes: z
      .number()
      .int()
      .min(6 * MiB)
      .nullish(),
    cpu_millicores: z.number().int().min(1).nullish(),
    /** Size of /tmp; the engine limits the root file system (docs/guides/containers.md). */
    disk_bytes: z.number().int().min(1).nullish(),
    /** Number of bytes kept of stdout and of stderr each. */
    output_bytes: z.number().int().min(1).max(MiB).default(MiB),
  }),
});

export type AgentContainerInput = z.output<typeof AgentContainerInput>;

/** The shape of `program.run`'s result. */
export interface AgentContainerResult {
  readonly exit_code: number;
  /** Set if a limit ended the container. */
  readonly signal?: 'SIGKILL';
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly timed_out: boolean;
  readonly stopped_by?: 'timeout' | 'memory' | 'output';
}

interface ResolvedEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Values that must not appear in any output. */
  readonly secrets: readonly string[];
}

/**
 * Resolves `secret:NAME` and `config:NAME` for the tenant. `env:NAME` stays plain text, since it would name a variable of
 * the node. Throws `failed_precondition` naming the variable.
 */
export async function resolveEnvironment(
  secrets: Secrets,
  tenant: string,
  given: Readonly<Record<string, string>>,
): Promise<ResolvedEnvironment> {
  const found: string[] = [];
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (!/^(secret|config):/.test(value)) {
      variables[name] = value.startsWith('literal:') ? value.slice('literal:'.length) : value;
      continue;
    }
    const resolved = await secrets.resolve(tenant, value);
    if (resolved.includes('\0') || Buffer.byteLength(name) + 1 + Buffer.byteLength(resolved) >= STRING_LIMIT_BYTES)
      throw new SvcError('failed_precondition', `env.${name}: the value is too long for a variable or holds NUL`);
    if (value.startsWith('secret:')) found.push(resolved);
    variables[name] = resolved;
  }
  return { variables, secrets: found };
}

/** How an agent with a network reaches the node (W26). */
interface GatewayAddress {
  /** `http://HOST:PORT` of the internal listener; null: none. */
  readonly url: string | null;
  /** Capability token of the execution (S5). */
  readonly token: string;
}

/** Variables that the node sets; those of a manifest never override them. */
export function nodeVariables({ url, token }: GatewayAddress): Record<string, string> {
  if (url === null) return { SVC_SEAL_ENABLED: 'false' };
  const base = url.replace(/\/+$/, '');
  return { SVC_ORCHESTRATOR_URL: `${base}/x/${token}`, SVC_SEAL_ENABLED: 'true', SVC_SEAL_GATEWAY_URL: base };
}
