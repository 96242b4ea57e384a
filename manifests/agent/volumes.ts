import { z } from 'zod';
import { bytes } from '../duration.ts';
import { refuse } from '../expectation.ts';
import { pathText, type YamlText } from '../schema-problems.ts';
import { checkTemplate } from '../template/references.ts';
import { sizeIsMeasured } from '../workflow/check/limit-rules.ts';
import type { Finding } from '../workflow/finding.ts';

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
    const report = (field: string, message: string) => refuse(context, [field], message);
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

/** `spec.volumes[]` (W22): names are unique, mount paths do not overlap. */
export const AgentVolumes = z
  .array(Volume)
  .max(50)
  .superRefine((volumes, context) => {
    volumes.forEach((volume, index) => {
      for (const [earlier, other] of volumes.slice(0, index).entries()) {
        if (other.name === volume.name) refuse(context, [index, 'name'], `already the name of volumes[${earlier}]`);
        if (overlap(other.mount_path, volume.mount_path))
          refuse(context, [index, 'mount_path'], `overlaps mount_path ${other.mount_path} of volumes[${earlier}]`);
      }
    });
  })
  .prefault([]);

const overlap = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);

export type AgentVolume = z.output<typeof AgentVolumes>[number];

type Path = readonly PropertyKey[];

interface VolumeFault {
  readonly path: Path;
  readonly message: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Effects take 50 mounts, and the workspace is one of them. */
export const MOST_AGENT_VOLUMES = 49;

const MIB = 1_024 ** 2;

/** Why every start of an agent with these volumes would be refused. `maxSizeLimitMb`: that of the node, where it is known. */
export function volumeFaults(volumes: readonly AgentVolume[], maxSizeLimitMb = Infinity): VolumeFault[] {
  const found = volumes.flatMap((volume, index): VolumeFault[] => {
    const at = (message: string | null, ...path: Path): VolumeFault[] =>
      message === null ? [] : [{ path: ['spec', 'volumes', index, ...path], message }];
    const { type, size_limit_bytes: size = 0, source, storage_class } = volume;
    const isLarge = storage_class === 'ephemeral' && size > maxSizeLimitMb * MIB;
    return [
      ...at(type === 'seaweedfs' ? null : unserved(type), 'type'),
      ...at(isLarge ? `this node allows volumes of ${maxSizeLimitMb} MiB at most` : null, 'size_limit'),
      ...at(storage_class === 'persistent' ? sourceFault(source?.volume_id ?? '') : null, 'source', 'volume_id'),
    ];
  });
  const isFull = volumes.length > MOST_AGENT_VOLUMES;
  const message = `expected at most ${MOST_AGENT_VOLUMES} volumes beside the workspace, got ${volumes.length}`;
  return [...(isFull ? [{ path: ['spec', 'volumes'], message }] : []), ...found];
}

const unserved = (type: string): string =>
  `a volume of type ${type} is not served by this version: every start would be refused; omit the type for a volume of the node`;

function sourceFault(text: string): string | null {
  if (text.includes('{{')) {
    const reason = checkTemplate(text);
    return reason === null ? null : `expected a Handlebars template: ${reason}`;
  }
  return UUID.test(text.trim())
    ? null
    : 'expected the UUID of a persistent volume, or a template such as {{input.volume}}';
}

/** The fields of a volume that have no effect, with the reason. */
export function ignoredOfVolumes(volumes: readonly AgentVolume[]): VolumeFault[] {
  return volumes.flatMap((volume, index) => {
    const isPersistent = volume.storage_class === 'persistent';
    const ofOther = (field: 'provider' | 'config', isSet: boolean) =>
      isSet ? [{ field, message: `a volume of type ${volume.type} has no ${field}` }] : [];
    const inOther = (field: 'ttl_hours' | 'source' | 'size_limit', isSet: boolean, message: string) =>
      isSet ? [{ field, message }] : [];
    return [
      ...ofOther('provider', volume.type === 'seaweedfs' && volume.provider !== undefined),
      ...ofOther('config', volume.type === 'seaweedfs' && Object.keys(volume.config).length > 0),
      ...inOther('ttl_hours', isPersistent && volume.ttl_hours !== undefined, 'a persistent volume does not expire'),
      ...inOther(
        'size_limit',
        isPersistent && volume.size_limit_bytes !== undefined,
        'a persistent volume has the size that it was created with',
      ),
      ...inOther(
        'source',
        !isPersistent && volume.source !== undefined,
        'an ephemeral volume is a new one of each execution',
      ),
    ].map(({ field, message }) => ({ path: ['spec', 'volumes', index, field], message }));
  });
}

/** Warns of sizes on a node that only measures volumes. Never refuses a deployment. */
export function measuredSizes(
  { spec: { volumes } }: { readonly spec: { readonly volumes: readonly AgentVolume[] } },
  { locate }: Pick<YamlText, 'locate'>,
): Finding[] {
  return volumes.flatMap(({ size_limit_bytes: size }, index): Finding[] => {
    const path = ['spec', 'volumes', index, 'size_limit'];
    if (size === undefined) return [];
    return [{ ...MEASURED, severity: 'warning', path: pathText(path), ...locate(path) }];
  });
}

const MEASURED = {
  rule: sizeIsMeasured.id,
  message: 'this node measures volumes: a command beyond the limit is ended, tools get ENOSPC',
  cure: sizeIsMeasured.cure,
};
