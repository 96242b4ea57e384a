import type { Clock } from '../../runtime/clock.ts';
import { type Page, shownPage } from '../../runtime/documents/pages.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Random } from '../../runtime/random.ts';
import type { CatalogFilter, CatalogReader, CatalogScope, CatalogStatus } from '../api.ts';
import { checkPage, MAX_PAGE } from '../changes.ts';
import { type CatalogEntry, type EntryWithManifest, entryOf, newestEntry } from './entry.ts';
import { listEntries } from './list.ts';
import { findStanding, findToChange, findVisible } from './lookup.ts';
import { EntryCache, MAX_ATTEMPTS, type ManifestStore } from './manifest-store.ts';
import { moveRecord, register } from './move.ts';
import {
  byDeployment,
  type CatalogRecord,
  latestOf,
  type ManifestHead,
  type Namespace,
  type VisibleRecord,
} from './record.ts';
import {
  busy,
  type Change,
  deletedRecord,
  namespaceOf,
  notFound,
  requireChange,
  requireDeploy,
  requireScopeChange,
  statusRecord,
} from './rules.ts';

export interface VersionedCatalogParts<Manifest extends ManifestHead, Summary> {
  readonly store: ManifestStore<Manifest>;
  /** Built-in entries; called at the first use. */
  readonly shipped: () => readonly EntryWithManifest<Manifest>[];
  /** Number of running executions of an entry; of all tenants when null. */
  readonly inUse: (tenant: string | null, id: string) => Promise<number>;
  /** Inserts a new record; returns an error when the caller has reached its quota. */
  readonly insert: (identity: Identity, record: CatalogRecord) => Promise<boolean | SvcError>;
  readonly summary: (entry: CatalogEntry) => Summary;
  readonly clock: Clock;
  readonly random: Random;
}

/** The calls that catalogs of agents and of workflows share (see api.ts for what each promises). */
export class VersionedCatalog<Manifest extends ManifestHead, Summary> {
  readonly #parts: VersionedCatalogParts<Manifest, Summary>;
  protected readonly store: ManifestStore<Manifest>;
  readonly #cache: EntryCache;

  constructor(parts: VersionedCatalogParts<Manifest, Summary>) {
    this.#parts = parts;
    this.store = parts.store;
    this.#cache = new EntryCache(parts.store);
  }

  /** Call it before the manifest is read: throws `forbidden`. */
  protected requireDeploy(identity: Identity, scope: CatalogScope): void {
    requireDeploy(this.store.kind, identity, scope);
  }

  /** Deploys a version and returns the UUID of the entry. */
  protected register(
    identity: Identity,
    deploy: { readonly manifest: Manifest; readonly manifestYaml: string; readonly force: boolean },
    scope: CatalogScope,
  ): Promise<string> {
    return register(this.store, this.#parts.random, {
      ...deploy,
      namespace: namespaceOf(identity, scope),
      change: this.#change(identity),
      insert: (record) => this.#parts.insert(identity, record),
    });
  }

  async get(
    reader: CatalogReader,
    idOrName: string,
    version?: string,
  ): Promise<Summary & { readonly manifest: Manifest; readonly manifest_yaml: string }> {
    const found = await this.find(reader, idOrName, version);
    return { ...this.#parts.summary(found), manifest: found.manifest, manifest_yaml: found.manifest_yaml };
  }

  /** The entry of the nearest scope that has the version. */
  protected async find(
    reader: CatalogReader,
    idOrName: string,
    version?: string,
  ): Promise<EntryWithManifest<Manifest>> {
    const { kind, manifests } = this.store;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const seen = await this.#visible(reader, idOrName);
      const [found] = seen.flatMap((record) => {
        const entry =
          version === undefined ? latestOf(record.versions) : record.versions.find((one) => one.version === version);
        return entry === undefined ? [] : [{ record, entry }];
      });
      if (found === undefined) return this.#shippedVersion(idOrName, version, seen.length > 0);
      const parsed = await manifests.get(found.record.tenant, found.entry.manifest_id);
      if (parsed !== null) return { ...entryOf(found.record, found.entry, kind.shown(parsed.manifest)), ...parsed };
      // The version was replaced, moved or deleted between the two reads: read again.
    }
    throw busy(kind);
  }

  protected async newest(reader: CatalogReader, idOrName: string): Promise<CatalogEntry> {
    const [record] = await this.#visible(reader, idOrName);
    return record === undefined ? this.#shippedVersion(idOrName) : newestEntry(this.store.kind, record);
  }

  async list(reader: CatalogReader, options: CatalogFilter = {}): Promise<Page<Summary>> {
    const { scope, status, limit = MAX_PAGE, skip = 0, pageToken } = options;
    const shipped = scope === undefined ? [] : this.#parts.shipped();
    const filter = { scope, status, pageToken, ...checkPage(limit, skip, 'skip') };
    return shownPage(await listEntries(this.store, this.#cache, shipped, reader, filter), this.#parts.summary);
  }

  async versions(reader: CatalogReader, idOrName: string): Promise<Summary[]> {
    const { kind, manifests } = this.store;
    const [record] = await this.#visible(reader, idOrName);
    if (record === undefined) return [this.#parts.summary(this.#shippedVersion(idOrName))];
    const entries: Summary[] = [];
    for (const entry of byDeployment(record.versions)) {
      const parsed = await manifests.get(record.tenant, entry.manifest_id);
      if (parsed !== null) {
        entries.push(this.#parts.summary(entryOf(record, entry, kind.shown(parsed.manifest))));
      }
    }
    return entries;
  }

  /** Deletes an entry with all versions and returns its UUID. */
  protected async remove(identity: Identity, idOrName: string, { force = false } = {}): Promise<string> {
    const { kind } = this.store;
    const { record } = await this.#write(identity, idOrName, async (known, change) => {
      const count = force ? 0 : await this.#parts.inUse(known.scope === 'global' ? null : known.tenant, known.id);
      if (count > 0) throw inUse(kind.noun, known.name, count);
      return deletedRecord(kind, known, change);
    });
    // Deleted for all readers; the rest is clean-up.
    await this.store.purge(record);
    return record.id;
  }

  async setStatus(identity: Identity, idOrName: string, status: CatalogStatus): Promise<Summary> {
    const { kind } = this.store;
    const { known } = await this.#write(identity, idOrName, async (found, change) =>
      found.status === status ? found : statusRecord(kind, found, status, change),
    );
    return this.#parts.summary(newestEntry(kind, { ...known, status }));
  }

  promote(identity: Identity, idOrName: string, target: 'tenant' | 'global'): Promise<Summary> {
    return this.#move(identity, idOrName, target === 'tenant' ? 'user' : 'tenant', namespaceOf(identity, target));
  }

  demote(identity: Identity, idOrName: string, target: 'tenant' | 'user', userId?: string): Promise<Summary> {
    const to = namespaceOf(identity, target, userId);
    return this.#move(identity, idOrName, target === 'tenant' ? 'global' : 'tenant', to);
  }

  async #move(identity: Identity, idOrName: string, from: CatalogScope, to: Namespace): Promise<Summary> {
    requireScopeChange(this.store.kind, identity, from, to.scope);
    const { store, clock, random } = this.#parts;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await this.#changeable(idOrName, () => findStanding(store, identity, idOrName, from));
      const moved = await moveRecord({ store, clock, random, by: identity.subject }, known, to);
      if (moved !== null) return this.#parts.summary(newestEntry(store.kind, moved));
    }
    throw busy(store.kind);
  }

  /** Finds the record, checks permissions and writes the result of `next`; starts again when another write was faster. */
  async #write(
    identity: Identity,
    idOrName: string,
    next: (known: VisibleRecord, change: Change) => Promise<CatalogRecord>,
  ): Promise<{ readonly known: VisibleRecord; readonly record: CatalogRecord }> {
    const { kind, records, log } = this.store;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await this.#changeable(idOrName, () => findToChange(this.store, identity, idOrName));
      requireChange(kind, identity, known);
      if (!(await this.store.isSettled(known))) continue;
      const record = await next(known, this.#change(identity));
      if (record === known) return { known, record };
      if (!(await records.replace(record, known.version))) continue;
      await log.record(record);
      return { known, record };
    }
    throw busy(kind);
  }

  /** Built-in entries can be read but not changed. */
  async #changeable(idOrName: string, find: () => Promise<VisibleRecord>): Promise<VisibleRecord> {
    try {
      return await find();
    } catch (thrown) {
      const shipped = isNotFound(thrown) ? this.#findShipped(idOrName) : undefined;
      if (shipped === undefined) throw thrown;
      const { noun } = this.store.kind;
      throw new SvcError('failed_precondition', `${noun} ${shipped.name} ships with the product and cannot be changed`);
    }
  }

  /** Empty when only a built-in entry has this name. Throws `not_found`. */
  async #visible(reader: CatalogReader, idOrName: string): Promise<VisibleRecord[]> {
    try {
      return await findVisible(this.store, reader, idOrName);
    } catch (thrown) {
      if (isNotFound(thrown) && this.#findShipped(idOrName) !== undefined) return [];
      throw thrown;
    }
  }

  #findShipped(idOrName: string): EntryWithManifest<Manifest> | undefined {
    const id = idOrName.toLowerCase();
    return this.#parts.shipped().find((one) => one.name === idOrName || one.id === id);
  }

  #shippedVersion(idOrName: string, version?: string, othersSeen = false): EntryWithManifest<Manifest> {
    const { kind } = this.store;
    const found = this.#findShipped(idOrName);
    if (found !== undefined && (version === undefined || found.version === version)) return found;
    if (found === undefined && !othersSeen) return notFound(kind);
    throw new SvcError('not_found', `${kind.noun} version not found`, { field: 'version' });
  }

  #change({ subject }: Identity): Change {
    return { by: subject, at: new Date(this.#parts.clock.now()).toISOString() };
  }
}

const isNotFound = (thrown: unknown): boolean => thrown instanceof SvcError && thrown.code === 'not_found';

function inUse(noun: string, name: string, count: number): SvcError {
  const runs = count === 1 ? '1 execution is running' : `${count} executions are running`;
  return new SvcError('failed_precondition', `${noun} ${name} is in use: ${runs}; use force to delete it all the same`);
}
