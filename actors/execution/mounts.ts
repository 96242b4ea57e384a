import { z } from 'zod';

/** A volume of the workflow an execution belongs to, and where its program finds it (spec 3, volumes of a state). */
export const Mount = z.object({
  volume_id: z.string().min(1).max(128),
  /** Absolute; isolation `process` has them at or under `/workspace`. */
  mount_path: z.string().startsWith('/').max(4_096),
  read_only: z.boolean(),
});
export type Mount = z.output<typeof Mount>;

export const Mounts = z.array(Mount).max(50);
