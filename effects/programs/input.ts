import { z } from 'zod';
import { ProgramRules } from '../../manifests/tool/contract.ts';
import { EnvironmentName, RunMs, systemString } from '../../usecases/ports/commands.ts';
import { Mounts } from './mounts.ts';

const MiB = 1024 * 1024;

/** Name of a directory below the workspaces. */
export const Segment = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'an id of letters, digits and . _ @ -');

export const ProgramLimits = z.object({
  /** Longest run; after it the process group gets TERM, then KILL after a grace period. */
  timeout_ms: RunMs,
  /** Memory of all its processes (anonymous and shared), sampled. */
  memory_bytes: z.number().int().min(MiB).nullish(),
  /** Processor time of each process as a share of the longest run: 500 is half a core. */
  cpu_millicores: z.number().int().min(1).nullish(),
  /** Number of bytes kept of stdout and of stderr each. */
  output_bytes: z
    .number()
    .int()
    .min(1)
    .max(16 * MiB)
    .default(MiB),
  /** Limit for both streams together; beyond it the process group is killed. */
  total_output_bytes: z.number().int().min(1).nullish(),
  processes: z.number().int().min(1).max(10_000).default(256),
  open_files: z.number().int().min(16).max(65_536).default(1_024),
  /** Largest file it may write. */
  file_bytes: z
    .number()
    .int()
    .min(512)
    .default(1024 * MiB),
});

export type ProgramLimits = z.output<typeof ProgramLimits>;

export const ProgramInput = z.object({
  /** Program on this host; relative to the configured base directory. */
  path: systemString('path').min(1).max(4_096),
  args: z.array(systemString('an argument')).max(256),
  /** Values: `secret:NAME`, `config:NAME`, `literal:TEXT`, or the text itself (W22). */
  env: z.record(EnvironmentName, systemString('an environment value')),
  execution_id: Segment,
  /** Volumes of its workflow. */
  mounts: Mounts.optional(),
  limits: ProgramLimits,
  /** Rules of its manifest. Absent in requests of older nodes: no network, the whole workspace. */
  rules: ProgramRules.optional(),
});

export type ProgramInput = z.output<typeof ProgramInput>;
