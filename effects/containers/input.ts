import { z } from 'zod';
import { KnownVolume } from '../../manifests/metadata.ts';
import { absolutePath } from '../../manifests/workflow/fields.ts';
import type { ErrorCode } from '../../runtime/errors.ts';
import { RunMs, STRING_LIMIT_BYTES, systemString } from '../../usecases/ports/commands.ts';
import { StepFiles } from '../volumes/step-files.ts';

/** All arguments and variables together, below the 2 MiB that Linux allows with the usual stack limit. */
const TOGETHER_LIMIT_BYTES = 1_024 * 1_024;

/** `[host[:port]/]path[:tag][@sha256:…]` only: engines would read `docker-archive:/file` as a file of the host. */
export const ImageReference = z
  .string()
  .max(1_024)
  .regex(
    /^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?\/)?[a-z0-9][a-z0-9._/-]*(?::\w[\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/,
    'expected an image reference such as alpine:3.20 or registry.example/team/app@sha256:…',
  );

/** Rejects the engine's own mounts: a volume over them would disable the hardening. */
export const MountPath = absolutePath.refine(
  (path) => !/^\/+(?:(?:proc|sys|dev)(?:\/.*)?)?$/.test(path),
  'a volume cannot be mounted at /, /proc, /sys or /dev',
);

const Mount = z.object({
  volume_id: z.string().min(1).max(200),
  mount_path: MountPath,
  read_only: z.boolean().default(false),
  known: KnownVolume.optional(),
});

/** Input of `container.run`, with all templates rendered (W12). */
export const ContainerInput = z
  .object({
    workflow_execution_id: z.string().min(1).max(200),
    state_name: z.string().max(200),
    step_name: z.string().max(200).optional(),
    image: ImageReference,
    image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
    /** Replaces the image's entrypoint. */
    command: z.array(systemString('an argument')).min(1).max(256),
    /** Passes the elements, joined by spaces, to `sh -c`. */
    shell: z.boolean().default(false),
    env: z.record(z.string(), systemString('the value of a variable')).default({}),
    workdir: absolutePath.default('/workspace'),
    mounts: z.array(Mount).max(50).default([]),
    /** Written below the volume `workspace_id` before the start. */
    files: StepFiles.optional(),
    workspace_id: z.string().min(1).max(200).optional(),
    cpu_millicores: z.number().int().min(1).optional(),
    memory_bytes: z.number().int().min(1).optional(),
    /** Counts from the start of the container, by the engine's clock if another node started it. */
    timeout_ms: RunMs,
    /** Counts from the first attempt of the effect, so that pulls and preparations are part of it. */
    within_ms: z.number().int().min(1).optional(),
    /** No network, a read-only root, an unprivileged user, whatever the node's settings are. */
    sealed: z.boolean().optional(),
    /** Path in the secret store of `{"username", "password"}` or `user:password`. */
    registry_credentials: z.string().min(1).max(500).optional(),
  })
  .superRefine((input, check) => {
    const script = input.shell ? Buffer.byteLength(input.command.join(' ')) : 0;
    if (script >= STRING_LIMIT_BYTES) {
      const message = `the joined command must be shorter than ${STRING_LIMIT_BYTES} bytes; put long scripts into a volume`;
      check.addIssue({ code: 'custom', path: ['command'], message });
    }
    for (const name of Object.keys(input.env)) {
      if (/^[^=\0\s]{1,256}$/.test(name)) continue;
      const message = 'the name of a variable has 1 to 256 characters without "=", blanks and NUL';
      check.addIssue({ code: 'custom', path: ['env', name.slice(0, 50)], message });
    }
    const strings = [...input.command, ...Object.entries(input.env).flat()];
    if (strings.reduce((sum, one) => sum + Buffer.byteLength(one) + 1, 0) > TOGETHER_LIMIT_BYTES) {
      const message = `command and env together must not exceed ${TOGETHER_LIMIT_BYTES} bytes; put data into a volume`;
      check.addIssue({ code: 'custom', path: ['command'], message });
    }
    const paths = input.mounts.map((mount) => mount.mount_path.replace(/\/+/g, '/').replace(/\/$/, ''));
    paths.forEach((path, at) => {
      if (paths.indexOf(path) === at) return;
      check.addIssue({
        code: 'custom',
        path: ['mounts', at, 'mount_path'],
        message: 'expected one volume for each path, got two',
      });
    });
  });
export type ContainerInput = z.output<typeof ContainerInput>;

/** The limit for which a container was killed. */
export type StoppedBy = 'timeout' | 'memory' | 'output';

export interface ContainerResult {
  /** Exit code as the engine reports it: 128 plus the number of the signal if one ended it. */
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  /** All bytes written, kept or not; a lower bound after an adoption. */
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
  readonly timed_out: boolean;
  readonly oom_killed: boolean;
  readonly stopped_by?: StoppedBy;
  /** It has failed although it ran: a volume became full. */
  readonly failure?: { readonly code: ErrorCode; readonly message: string };
}
