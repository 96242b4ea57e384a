import { positionOf } from '../../runtime/documents/document-query.ts';
import { type Page, type PageAsked, pageOf } from '../../runtime/documents/pages.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { seenPart, sees, tenantOfViewer, type Viewer } from '../../runtime/identity.ts';
import type { VolumeDocument } from './stored-volume.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TRIES = 20;
const NEWEST_FIRST = [
  ['created_at', 'desc'],
  ['id', 'desc'],
] as const;
/** Executions that may have one volume mounted at once. */
const MAX_USERS = 1_000;

export const noVolume = (): SvcError => new SvcError('not_found', 'volume not found');

/** Throws `not_found` for what cannot be the id of a volume. */
export function volumeIdOf(text: string): string {
  if (!UUID.test(text)) throw noVolume();
  return text;
}

/** Documents of volumes, compare-and-set where two may write at once. */
export class VolumeRecords {
  readonly #documents: Collection<VolumeDocument>;

  constructor(documents: Collection<VolumeDocument>) {
    this.#documents = documents;
  }

  /** Null for one that is not there, is on its way out, or belongs to another tenant. */
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

  /** One that the viewer sees. */
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

  /** Changes a volume as long as it is there; `change` answers null to leave it. Answers what holds then. */
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
    throw new SvcError('unavailable', 'the volume is changed by too many at once', { retryAfterMs: 1_000 });
  }

  async addUser(tenant: string, volumeId: string, workflowExecutionId: string): Promise<VolumeDocument> {
    return this.change(tenant, volumeId, ({ used_by }) => {
      if (used_by.includes(workflowExecutionId)) return null;
      if (used_by.length >= MAX_USERS) {
        throw new SvcError('unavailable', `${MAX_USERS} running executions use the volume already`);
      }
      return { used_by: [...used_by, workflowExecutionId] };
    });
  }

  forget(tenant: string, volumeId: string): Promise<boolean> {
    return this.#documents.delete(tenant, volumeId);
  }

  /** Volumes of all tenants, for the sweep: those behind the last one of the page before. */
  page(
    where: Record<string, string | { readonly lte: number }>,
    last: VolumeDocument | undefined,
    limit: number,
  ): Promise<VolumeDocument[]> {
    const of = { tenant: null, where, limit };
    return this.#documents.find(last === undefined ? of : { ...of, after: positionOf(of, last) });
  }
}
