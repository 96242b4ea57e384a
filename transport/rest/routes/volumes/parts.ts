import type { VolumeApi, VolumeFiles } from '../../../../effects/volumes/api.ts';
import type { RestParts } from '../../parts.ts';

export interface VolumeRouteParts extends RestParts {
  readonly volumes: VolumeApi & { readonly files: VolumeFiles };
}

/** Statuses of everything below one volume: a link or `..` that leads out is 403, a full volume 507. */
export const FILE_STATUSES: readonly number[] = [404, 409, 507];
