import { z } from 'zod';
import { besideProblems, keyName, refuseRepeatedNames } from './fields.ts';

const ttlHours = z.number().int().min(1).max(87_600);
const sizeLimitMb = z.number().int().min(1).max(67_108_864);

const Workspace = z
  .strictObject({
    storage_class: z.enum(['ephemeral', 'persistent']).default('ephemeral'),
    /** From the start of the workflow. */
    ttl_hours: ttlHours.optional(),
    /** MiB. */
    size_limit_mb: sizeLimitMb.optional(),
  })
  .superRefine((volume, context) => refuseTtl(volume, context), besideProblems);

const SharedVolume = z
  .strictObject({
    name: keyName(128),
    storage_class: z.enum(['ephemeral', 'persistent']),
    ttl_hours: ttlHours.optional(),
    size_limit_mb: sizeLimitMb.optional(),
    /** Of a volume made before; persistent only. */
    volume_id: z.uuid('expected the UUID of a volume').optional(),
  })
  .superRefine((volume, context) => {
    refuseTtl(volume, context);
    const only = (field: 'size_limit_mb' | 'volume_id', storageClass: 'ephemeral' | 'persistent'): void => {
      if (volume[field] !== undefined && isOther(volume.storage_class, storageClass))
        context.addIssue({ code: 'custom', path: [field], message: `only for storage_class ${storageClass}` });
    };
    only('size_limit_mb', 'ephemeral');
    only('volume_id', 'persistent');
  }, besideProblems);

/** Of an unknown class nothing is said: it is a problem of its own. */
const isOther = (storageClass: string, wanted: 'ephemeral' | 'persistent'): boolean =>
  storageClass === (wanted === 'ephemeral' ? 'persistent' : 'ephemeral');

function refuseTtl(
  volume: { readonly storage_class: string; readonly ttl_hours?: number | undefined },
  context: z.RefinementCtx,
): void {
  if (volume.ttl_hours !== undefined && isOther(volume.storage_class, 'ephemeral'))
    context.addIssue({ code: 'custom', path: ['ttl_hours'], message: 'only for storage_class ephemeral' });
}

/** `spec.storage` (spec 3). Without a workspace of its own every execution has an ephemeral one (decided.md). */
export const WorkflowStorage = z.strictObject({
  workspace: Workspace.optional(),
  shared_volumes: z.array(SharedVolume).max(50).superRefine(refuseRepeatedNames, besideProblems).default([]),
});
export type WorkflowStorage = z.output<typeof WorkflowStorage>;
