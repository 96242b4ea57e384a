import { z } from 'zod';
import { duration } from '../duration.ts';
import { bytes } from '../quantity.ts';
import { absolutePath, keyName, template, templatedMap } from './fields.ts';

const HOUR_MS = 3_600_000;
const timeout = duration({ minMs: 1, maxMs: 365 * 24 * HOUR_MS, text: 'at most 365d' });

const VolumeMount = z.strictObject({
  /** `workspace`, or the name of a shared volume of the workflow. */
  name: z.string().min(1).max(128),
  mount_path: absolutePath,
  read_only: z.boolean().default(false),
});

const Resources = z
  .strictObject({
    /** Millicores. */
    cpu: z.number().int().min(1).max(1_024_000).optional(),
    memory: bytes({ min: 1, max: 64 * 1_024 ** 4, text: 'at most 64Ti' }).optional(),
    timeout: timeout.prefault('5m'),
  })
  .transform(({ cpu, memory, timeout }) => ({
    ...(cpu === undefined ? {} : { cpu_millicores: cpu }),
    ...(memory === undefined ? {} : { memory_bytes: memory }),
    timeout_ms: timeout,
  }));

/** What ContainerRun and a step of ParallelContainerRun have in common (spec 3). */
export const containerFields = {
  image: z.string().min(1).max(1_024),
  image_pull_policy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  /** Each element templated. */
  command: z.array(template).min(1).max(256),
  /** Elements joined by spaces and given to `sh -c`. */
  shell: z.boolean().default(false),
  env: templatedMap,
  workdir: template.default('/workspace'),
  volumes: z.array(VolumeMount).max(50).default([]),
  resources: Resources.prefault({}),
  /** Path in the secret store; the container never sees it. */
  registry_credentials: z.string().min(1).max(500).optional(),
};

export const ContainerStep = z.strictObject({ name: keyName(128), ...containerFields });
export type ContainerStep = z.output<typeof ContainerStep>;

export const Retry = z
  .strictObject({
    /** Total, the first one included. */
    max_attempts: z.number().int().min(1).max(100).default(1),
    backoff: duration({ minMs: 0, maxMs: 24 * HOUR_MS, text: 'at most 24h' }).prefault('0s'),
  })
  .transform(({ max_attempts, backoff }) => ({ max_attempts, backoff_ms: backoff }));
