import { positionOf } from '../../runtime/documents/document-query.ts';
import { newestFirst, type Page, type PageAsked, pageOf } from '../../runtime/documents/pages.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { seenPart, sees, tenantOfViewer, type Viewer } from '../../runtime/identity.ts';
import type { VolumeDocument } from './stored-volume.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TRIES = 20;
const NEWEST_FIRST = newestFirst('created_at');
/** Maximum number of executions that mount one volume. */
const MAX_USERS = 1_000;

export const noVolume = (): SvcError => new SvcError('not_found', 'volume not found');

/** Throws `not_found` for a malformed id. */
export function volumeIdOf(text: string): string {
  if (!UUID.test(text)) throw noVolume();
  return text;
}

/** The documents of volumes; concurrent changes use compare-and-set. */
export class VolumeRecords {
  readonly #documents: Collection<VolumeDocument>;

  constructor(documents: Collection<VolumeDocument>) {
    this.#documents = documents;
  }

  /** Null for a volume that does not exist, is being removed or belongs to another tenant. */
  async find(tenant: string, volumeId: string): Promise<VolumeDocument | null> {
    if (!UUID.test(volumeId)) return null;
    const found = await this.#documents.get(tenant, volumeId);
    return found?.status === 'ready' ? found : null;
  }

  async get(tenant: string, volumeId: string): Promise<VolumeDocument> {
    const found = await this.find(tenant, volumeId);
    if (found === null) throw noVolume();
    return found;
  }

  /** Throws `not_found` for a volume that the viewer may not see. */
  async seen(viewer: Viewer, volumeId: string): Promise<VolumeDocument> {
    const found = await this.get(tenantOfViewer(viewer), volumeId);
    if (!sees(viewer, found.owner)) throw noVolume();
    return found;
  }

  async isKnown(tenant: string, volumeId: string): Promise<boolean> {
    return (await this.#documents.get(tenant, volumeId)) !== null;
  }

  list(viewer: Viewer, page: PageAsked): Promise<Page<VolumeDocument>> {
    const of = { tenant: tenantOfViewer(viewer), where: { status: 'ready', ...seenPart(viewer) }, sort: NEWEST_FIRST };
    return pageOf(this.#documents, 'volumes', of, page);
  }

  count(tenant: string): Promise<number> {
    return this.#documents.count({ tenant });
  }

  insert(volume: VolumeDocument): Promise<boolean> {
    return this.#documents.insert(volume);
  }

  /** Applies `change`, which may return null for no change, and returns the resulting volume. */
  async change(
    tenant: string,
    volumeId: string,
    change: (volume: VolumeDocument) => Partial<VolumeDocument> | null,
  ): Promise<VolumeDocument> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const before = await this.get(tenant, volumeId);
      const changed = change(before);
      if (changed === null) return before;
      const after = { ...before, ...changed, version: before.version + 1 };
      if (await this.#documents.replace(after, before.version)) return after;
    }
    throw new SvcError('unavailable', 'other calls are changing the volume; try again', { retryAfterMs: 1_000 });
  }

  async addUser(tenant: string, volumeId: string, workflowExecutionId: string): Promise<VolumeDocument> {
    return this.change(tenant, volumeId, ({ used_by }) => {
      if (used_by.includes(workflowExecutionId)) return null;
      if (used_by.length >= MAX_USERS) {
        throw new SvcError('unavailable', `the volume already has the maximum of ${MAX_USERS} running executions`);
      }
      return { used_by: [...used_by, workflowExecutionId] };
    });
  }

  forget(tenant: string, volumeId: string): Promise<boolean> {
    return this.#documents.delete(tenant, volumeId);
  }

  /** A page of the volumes of all tenants, after `last`, for the sweep. */
  page(
    where: Record<string, string | { readonly lte: number }>,
    last: VolumeDocument | undefined,
    limit: number,
  ): Promise<VolumeDocument[]> {
    const of = { tenant: null, where, limit };
    return this.#documents.find(last === undefined ? of : { ...of, after: positionOf(of, last) });
  }
}
