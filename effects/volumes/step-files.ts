import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import type { VolumeFiles } from '../../usecases/ports/volumes.ts';

/** Files that a step of a workflow finds in the workspace, for content that no argument and no variable can hold. */
export const StepFiles = z
  .array(
    z.object({
      /** Below the workspace. */
      path: z.string().min(1).max(1_024),
      content: z.string(),
    }),
  )
  .max(32);

export type StepFiles = z.output<typeof StepFiles>;

/** Writes the files of a step before it starts, and replaces those of the same paths. Throws as `VolumeFiles.write`. */
export async function writeStepFiles(
  files: Pick<VolumeFiles, 'write'> | undefined,
  { tenant, volumeId }: { readonly tenant: string; readonly volumeId: string },
  wanted: StepFiles,
): Promise<void> {
  if (wanted.length === 0) return;
  if (files === undefined)
    throw new SvcError('unsupported_isolation', 'files: this node has no volumes', { field: 'files' });
  for (const { path, content } of wanted) await files.write(tenant, volumeId, `/${path}`, Buffer.from(content));
}
