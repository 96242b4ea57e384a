import { z } from 'zod';

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
  .superRefine((volume, context) => refuseTtl(volume, context));

const SharedVolume = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/, 'expected letters, digits, dashes and underscores'),
    storage_class: z.enum(['ephemeral', 'persistent']),
    ttl_hours: ttlHours.optional(),
    size_limit_mb: sizeLimitMb.optional(),
    /** Of a volume made before; persistent only. */
    volume_id: z.uuid('expected the UUID of a volume').optional(),
  })
  .superRefine((volume, context) => {
    refuseTtl(volume, context);
    const only = (field: 'size_limit_mb' | 'volume_id', storageClass: string): void => {
      if (volume[field] !== undefined && volume.storage_class !== storageClass)
        context.addIssue({ code: 'custom', path: [field], message: `only for storage_class ${storageClass}` });
    };
    only('size_limit_mb', 'ephemeral');
    only('volume_id', 'persistent');
  });

function refuseTtl(
  volume: { readonly storage_class: string; readonly ttl_hours?: number | undefined },
  context: z.RefinementCtx,
): void {
  if (volume.ttl_hours !== undefined && volume.storage_class !== 'ephemeral')
    context.addIssue({ code: 'custom', path: ['ttl_hours'], message: 'only for storage_class ephemeral' });
}

/** `spec.storage` (spec 3). Without a workspace of its own every execution has an ephemeral one (decided.md). */
export const WorkflowStorage = z.strictObject({
  workspace: Workspace.optional(),
  shared_volumes: z
    .array(SharedVolume)
    .max(50)
    .superRefine((volumes, context) => {
      const names = new Set<string>();
      volumes.forEach(({ name }, index) => {
        if (names.has(name))
          context.addIssue({ code: 'custom', path: [index, 'name'], message: 'expected a unique name' });
        names.add(name);
      });
    })
    .default([]),
});
export type WorkflowStorage = z.output<typeof WorkflowStorage>;
