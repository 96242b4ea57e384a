import { z } from 'zod';
import { bytes } from '../quantity.ts';

const TIB = 1_024 ** 4;

const Volume = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected lower-case letters, digits and dashes'),
    storage_class: z.enum(['ephemeral', 'persistent']),
    mount_path: z
      .string()
      .max(1_024)
      .regex(/^\/workspace(\/[^/\0]+)*$/, 'expected /workspace or a path under it')
      .refine(
        (path) => !path.split('/').some((part) => part === '.' || part === '..'),
        'expected no "." or ".." parts',
      ),
    access_mode: z.enum(['read-write', 'read-only']),
    type: z.enum(['seaweedfs', 'opendal', 'hostPath', 'seal']).default('seaweedfs'),
    provider: z.string().min(1).max(100).optional(),
    config: z.record(z.string(), z.json()).default({}),
    ttl_hours: z.number().positive().max(8_760).optional(),
    size_limit: bytes({ min: 1, max: 64 * TIB, text: 'from 1 byte to 64Ti' }).optional(),
    source: z.strictObject({ volume_id: z.string().min(1).max(500) }).optional(),
  })
  .superRefine((volume, context) => {
    const report = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (volume.storage_class === 'ephemeral' && volume.ttl_hours === undefined)
      report('ttl_hours', 'required for storage_class ephemeral: expected a number of hours');
    if (volume.storage_class === 'persistent' && volume.source === undefined)
      report('source', 'required for storage_class persistent: expected {volume_id}');
    if (volume.type === 'opendal' && volume.provider === undefined)
      report('provider', 'required for type opendal: expected the name of a storage provider');
  })
  .transform(({ size_limit, ...volume }) => ({
    ...volume,
    ...(size_limit === undefined ? {} : { size_limit_bytes: size_limit }),
  }));

/** `spec.volumes[]` (original-facts 2.10): names are unique, mount paths do not overlap. */
export const AgentVolumes = z
  .array(Volume)
  .max(50)
  .superRefine((volumes, context) => {
    volumes.forEach((volume, index) => {
      for (const [earlier, other] of volumes.slice(0, index).entries()) {
        if (other.name === volume.name)
          context.addIssue({
            code: 'custom',
            path: [index, 'name'],
            message: `already the name of volumes[${earlier}]`,
          });
        if (overlap(other.mount_path, volume.mount_path))
          context.addIssue({
            code: 'custom',
            path: [index, 'mount_path'],
            message: `overlaps mount_path ${other.mount_path} of volumes[${earlier}]`,
          });
      }
    });
  })
  .prefault([]);

const overlap = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
