import { z } from 'zod';
import { AbsolutePath, ImageReference, MountPath } from '../containers/input.ts';
import { EnvironmentName, Segment, text } from '../programs/input.ts';

const MiB = 1_048_576;

const Mount = z.object({
  volume_id: z.string().min(1).max(200),
  mount_path: MountPath.refine(
    (path) => !/^\/+(?:svc|run\/+svc)(?:\/|$)/.test(path),
    'the node itself is at /svc and /run/svc',
  ),
  read_only: z.boolean().default(false),
  /** Made by the first that needs it. */
  create: z.boolean().default(false),
});

/** Input of `agent.container`, as actors/execution/container-input.ts makes it: one iteration of an agent. */
export const AgentContainerInput = z.object({
  image: ImageReference.nullish(),
  language: z.string().min(1).max(50).nullish(),
  version: z.string().min(1).max(50).nullish(),
  image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  /** Inside the image; null is the node's own bootstrap. */
  bootstrap_path: AbsolutePath.nullish(),
  network: z.enum(['none', 'open']).default('none'),
  /** Nothing but /tmp and what the node reads from it can be written. */
  read_only: z.boolean().default(false),
  prompt: z
    .string()
    .max(16 * MiB)
    .refine((value) => !value.includes('\0'), 'a prompt must not hold NUL'),
  /** Values: `secret:NAME`, `config:NAME`, `literal:TEXT`, or the text itself (original-facts 2.10). */
  env: z.record(EnvironmentName, text('an environment value')).default({}),
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
    }, 'two volumes at one path'),
  /** Standard output is wanted as progress `{text}` while it comes. */
  stream: z.boolean().default(false),
  limits: z.object({
    /** From the start of the container. */
    timeout_ms: z
      .number()
      .int()
      .min(1)
      .max(24 * 3_600_000),
    memory_bytes: z
      .number()
      .int()
      .min(6 * MiB)
      .nullish(),
    cpu_millicores: z.number().int().min(1).nullish(),
    /** At most of /tmp; the root file system is the engine's matter (docs/containers.md). */
    disk_bytes: z.number().int().min(1).nullish(),
    /** Kept of each of stdout and stderr. */
    output_bytes: z.number().int().min(1).max(MiB).default(MiB),
  }),
});
export type AgentContainerInput = z.output<typeof AgentContainerInput>;

/** The shape of `program.run`'s result. */
export interface AgentContainerResult {
  readonly exit_code: number;
  /** Where a limit ended it. */
  readonly signal?: 'SIGKILL';
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly timed_out: boolean;
  readonly stopped_by?: 'timeout' | 'memory' | 'output';
}
