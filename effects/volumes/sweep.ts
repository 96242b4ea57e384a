import { lstat, readdir } from 'node:fs/promises';
import type { Clock } from '../../runtime/clock.ts';
import { systemCode } from './file-failure.ts';
import { implicitKeepMs, type VolumeDocument } from './stored-volume.ts';
import { openDirectory, removeTree } from './tree.ts';
import { UPLOADS } from './volume-path.ts';
import type { VolumeStore } from './volume-store.ts';

export interface VolumeSweepOptions {
  readonly store: VolumeStore;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly warn: (message: string, error: unknown) => void;
}

const PAGE = 200;
/** A directory without a document may be one that is being made now. */
const ORPHAN_AFTER_MS = 10 * 60_000;
const OLD_UPLOAD_MS = 24 * 3_600_000;

/**
 * Removes volumes whose time is over, workspaces of ended executions, and what crashes left, from time to time. Every
 * node may run it: removing is repeatable. Answers how to stop.
 */
export function startVolumeSweep(options: VolumeSweepOptions): () => void {
  let cancel = (): void => {};
  let stopped = false;
  const warn: typeof options.warn = (message, error) => {
    // What a stopping node closes meanwhile is no fault.
    if (!stopped) options.warn(message, error);
  };
  const arm = (): void => {
    if (stopped) return;
    cancel = options.clock.after(options.everyMs, () => {
      sweepVolumes({ ...options, warn })
        .catch((error: unknown) => warn('sweeping volumes failed', error))
        .finally(arm);
    });
  };
  arm();
  return () => {
    stopped = true;
    cancel();
  };
}

/** One pass; answers how many volumes and orphan directories were removed. One that fails does not keep the others. */
export async function sweepVolumes(options: Omit<VolumeSweepOptions, 'everyMs'>): Promise<number> {
  const { store, clock, warn } = options;
  const now = clock.now();
  let removed = 0;
  const one = async (work: () => Promise<boolean>): Promise<void> => {
    try {
      if (await work()) removed += 1;
    } catch (error) {
      warn('a volume could not be swept', error);
    }
  };
  for (const volume of await allOf(store, { status: 'removing' })) await one(() => remove(store, volume));
  for (const volume of await allOf(store, { made_by: 'implicit' })) await one(() => agree(store, volume, now));
  for (const volume of await allOf(store, { expires_at_ms: { lte: now } })) await one(() => remove(store, volume));
  for await (const { tenant, volumeId, changedAt } of store.parts.disk.all()) {
    if (now - changedAt > ORPHAN_AFTER_MS) await one(() => removeOrphan(store, tenant, volumeId));
    await one(() => removeOldUploads(store.parts.disk.pathOf(tenant, volumeId), now));
  }
  return removed;
}

/** Uploads that a crash cut off. */
async function removeOldUploads(root: string, now: number): Promise<false> {
  try {
    await using uploads = await openDirectory(root, [UPLOADS]);
    for (const name of await readdir(uploads.self)) {
      const { ctimeMs } = await lstat(uploads.entry(name));
      if (now - ctimeMs > OLD_UPLOAD_MS) await removeTree(uploads.entry(name));
    }
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw thrown;
  }
  return false;
}

async function allOf(store: VolumeStore, where: Parameters<VolumeStore['parts']['records']['page']>[0]) {
  const found: VolumeDocument[] = [];
  for (;;) {
    const page = await store.parts.records.page(where, found.at(-1), PAGE);
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}

/** An expired volume waits for effects that work in it on this node, not for its workflow: its time is over. */
async function remove(store: VolumeStore, volume: VolumeDocument): Promise<boolean> {
  if (store.isHeld(volume.tenant, volume.id)) return false;
  await store.remove(volume, 'VolumeExpired');
  return true;
}

/** The workspace of an ended execution gets the time until its end; it is removed by a later pass. */
async function agree(store: VolumeStore, volume: VolumeDocument, now: number): Promise<boolean> {
  if (volume.expires_at_ms !== null || volume.status !== 'ready' || (await store.isUsed(volume))) return false;
  const expires_at_ms = now + implicitKeepMs(store.parts.limits);
  await store.parts.records.change(volume.tenant, volume.id, () => ({ expires_at_ms }));
  return false;
}

/** Its document is gone: a crash came between, or somebody put it there. */
async function removeOrphan(store: VolumeStore, tenant: string, volumeId: string): Promise<boolean> {
  const { records, disk } = store.parts;
  if (store.isHeld(tenant, volumeId) || (await records.isKnown(tenant, volumeId))) return false;
  await disk.remove(tenant, volumeId);
  return true;
}
