import type { ProcessVolumes } from '../programs/mounts.ts';
import type { Workspace } from './workspace-run.ts';

/** A volume as a workspace, kept from the sweep until it is disposed. Throws `not_found`. */
export async function heldVolume(
  volumes: ProcessVolumes,
  tenant: string,
  volumeId: string,
  create: boolean,
): Promise<Workspace & AsyncDisposable> {
  const release = volumes.hold(tenant, volumeId);
  try {
    const opened = await volumes.open(tenant, volumeId, { create });
    return { ...opened, volumeId, [Symbol.asyncDispose]: async () => release() };
  } catch (thrown) {
    release();
    throw thrown;
  }
}
