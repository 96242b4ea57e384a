import type { KnownVolume } from '../../manifests/known-volume.ts';
import type { GuardedVolume, ProcessVolumes } from '../programs/mounts.ts';
import type { Workspace } from './workspace-run.ts';

export interface HeldVolume extends Workspace, AsyncDisposable {
  readonly volume: GuardedVolume;
}

/** A volume as a workspace, kept from the sweep until it is disposed. Throws `not_found`. */
export async function heldVolume(
  volumes: ProcessVolumes,
  tenant: string,
  volumeId: string,
  options: { readonly create: boolean; readonly known?: KnownVolume | undefined },
): Promise<HeldVolume> {
  const release = volumes.hold(tenant, volumeId);
  try {
    const { directory, sizeLimitBytes, known } = await volumes.open(tenant, volumeId, options);
    const volume = { volumeId, known };
    return { directory, sizeLimitBytes, volume, [Symbol.asyncDispose]: async () => release() };
  } catch (thrown) {
    release();
    throw thrown;
  }
}
