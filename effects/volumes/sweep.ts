import { lstat, readdir } from 'node:fs/promises';
import type { Clock } from '../../runtime/clock.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { repeat } from '../../runtime/kit/waits.ts';
import { HOUR_MS, type VolumeDocument } from './stored-volume.ts';
import { openDirectory, removeTree } from './tree.ts';
import { UPLOADS } from './volume-path.ts';
import type { VolumeStore } from './volume-store.ts';

interface VolumeSweepOptions {
  readonly store: VolumeStore;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly warn: (message: string, error: unknown) => void;
}

const PAGE = 200;
/** A younger directory without a document may belong to a volume that is being created. */
const ORPHAN_AFTER_MS = 10 * 60_000;
const OLD_UPLOAD_MS = 24 * 3_600_000;

/**
 * Periodically removes expired volumes, workspaces of ended executions and leftovers of crashes. Every node may run it, since
 * removal is repeatable. Returns the function that stops it.
 */
export function startVolumeSweep(options: VolumeSweepOptions): () => void {
  let stopped = false;
  const warn: typeof options.warn = (message, error) => {
    // Errors after the stop are expected, because the node closes its stores.
    if (!stopped) options.warn(message, error);
  };
  const failed = (error: unknown): void => warn('sweeping volumes failed', error);
  const end = repeat(options.clock, options.everyMs, () => sweepVolumes({ ...options, warn }).catch(failed));
  return () => {
    stopped = true;
    void end();
  };
}

/** One pass; returns the number of removed volumes and orphan directories. An error does not stop the pass. */
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
  for (const made_by of ['implicit', 'agent'])
    for (const volume of await allOf(store, { made_by })) await one(() => expire(store, volume, now));
  for (const volume of await allOf(store, { expires_at_ms: { lte: now } })) await one(() => remove(store, volume));
  for await (const { tenant, volumeId, changedAt } of store.parts.disk.all()) {
    if (now - changedAt > ORPHAN_AFTER_MS) await one(() => removeOrphan(store, tenant, volumeId));
    await one(() => removeOldUploads(store.parts.disk.pathOf(tenant, volumeId), now));
  }
  return removed;
}

/** Removes uploads that a crash interrupted. */
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

/** Removes an expired volume unless an effect of this node works in it. Its workflow does not keep it. */
async function remove(store: VolumeStore, volume: VolumeDocument): Promise<boolean> {
  if (store.isHeld(volume.tenant, volume.id)) return false;
  await store.remove(volume, 'VolumeExpired');
  return true;
}

/** A younger volume of an agent may be that of an execution that is being started. */
const STARTED_AFTER_MS = 10 * 60_000;

/** How long the volumes of an execution are kept after its end. */
const IMPLICIT_KEEP_MS = HOUR_MS;

/** Sets the expiry of volumes of an ended execution, unless they expire earlier; a later pass removes them. */
async function expire(store: VolumeStore, volume: VolumeDocument, now: number): Promise<boolean> {
  const expires_at_ms = now + IMPLICIT_KEEP_MS;
  if (volume.status !== 'ready' || (volume.expires_at_ms ?? Infinity) <= expires_at_ms) return false;
  if (volume.made_by === 'agent' && now - Date.parse(volume.created_at) < STARTED_AFTER_MS) return false;
  if (await store.isUsed(volume)) return false;
  await store.parts.records.change(volume.tenant, volume.id, () => ({ expires_at_ms }));
  return false;
}

/** Removes a directory without a document, left by a crash. */
async function removeOrphan(store: VolumeStore, tenant: string, volumeId: string): Promise<boolean> {
  const { records, disk } = store.parts;
  if (store.isHeld(tenant, volumeId) || (await records.isKnown(tenant, volumeId))) return false;
  await disk.remove(tenant, volumeId);
  return true;
}
