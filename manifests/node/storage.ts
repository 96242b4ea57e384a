import { z } from 'zod';

const megabytes = z.number().int().min(1).max(67_108_864);

/** `spec.storage` (original-facts 3): volumes of workflows, kept in a directory of this host. */
export const NodeStorage = z
  .strictObject({
    backend: z.literal('local_host').default('local_host'),
    /** For ephemeral volumes that name none. */
    default_ttl_hours: z.number().int().min(1).max(87_600).default(24),
    /** MiB, for volumes that name none. */
    default_size_limit_mb: megabytes.default(1_000),
    /** MiB; nobody may ask for more. */
    max_size_limit_mb: megabytes.default(10_000),
    gc_interval_minutes: z.number().int().min(1).max(1_440).default(60),
    local_host: z
      .strictObject({
        /** Directory of all volumes; default `<data_dir>/volumes`. Nodes that share volumes share this directory. */
        mount_point: z.string().min(1).max(4_096).optional(),
        /**
         * How size limits hold for commands and containers. `sampled`: looked at while they run, and they are ended.
         * `image`: every volume is a file system of its size (Linux, root, a directory of this node alone).
         */
        quota: z.enum(['sampled', 'image']).default('sampled'),
      })
      .prefault({}),
  })
  .superRefine((storage, context) => {
    if (storage.default_size_limit_mb <= storage.max_size_limit_mb) return;
    const message = `expected at most max_size_limit_mb, ${storage.max_size_limit_mb}`;
    context.addIssue({ code: 'custom', path: ['default_size_limit_mb'], message });
  });
export type NodeStorage = z.output<typeof NodeStorage>;
