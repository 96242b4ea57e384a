import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import { MAX_ATTEMPTS, type ManifestStore } from './manifest-store.ts';
import { type CatalogRecord, isVisible, type ManifestHead, type Namespace, type VisibleRecord } from './record.ts';
import { busy, type Change, deployedRecord, refusalOf, scopeChanged } from './rules.ts';

interface Mover {
  readonly store: ManifestStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly by: string;
}

/**
 * Moves an agent or workflow to another namespace and returns its record there. Within a tenant this is one compare-and-set.
 * Between tenants it is three steps: create a hidden copy, which reserves the name; write the target into the source, which
 * decides the move; make the copy visible and delete the source. After a crash the next access to either record completes the
 * move. Returns null when the entry was moved or deleted meanwhile. Throws `conflict` when the name is taken.
 */
export async function moveRecord(mover: Mover, known: VisibleRecord, to: Namespace): Promise<VisibleRecord | null> {
  const { store } = mover;
  let source: CatalogRecord | null = known;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (source === null || !isVisible(source) || !sameScope(source, known)) return null;
    if (await store.isSettled(source)) {
      const taken = await store.at(to, source.name);
      if (taken === null) {
        const moved = await (to.tenant === source.tenant
          ? moveInside(mover, source, to)
          : moveAcross(mover, source, to));
        if (moved !== null) return moved;
      } else if (await store.isSettled(taken)) {
        // After a deletion the id is unknown, even when another entry has taken the name.
        const still: CatalogRecord | null = await store.records.get(source.tenant, source.id);
        if (still?.version === source.version) throw nameTaken(mover, source.name, to);
      }
    }
    source = await store.records.get(source.tenant, source.id);
  }
  throw busy(store.kind);
}

const sameScope = (a: CatalogRecord, b: CatalogRecord): boolean => a.scope === b.scope && a.owner === b.owner;

/** Null when another write was faster. */
async function moveInside(
  { store, clock, by }: Mover,
  source: VisibleRecord,
  to: Namespace,
): Promise<VisibleRecord | null> {
  const last_event = scopeChanged(store.kind, source, to, { by, at: isoTime(clock) });
  const moved: VisibleRecord = { ...source, ...to, version: source.version + 1, last_event };
  try {
    if (!(await store.records.replace(moved, source.version))) return null;
  } catch (thrown) {
    // The name was taken meanwhile.
    if (thrown instanceof SvcError && thrown.code === 'conflict') return null;
    throw thrown;
  }
  await store.log.record(moved);
  return moved;
}

/** Null when another write was faster. */
async function moveAcross(mover: Mover, source: VisibleRecord, to: Namespace): Promise<VisibleRecord | null> {
  const { store, clock, random, by } = mover;
  const { records } = store;
  // The manifests get new ids, since those of the source are deleted with it at any later time.
  const versions = source.versions.map((entry) => ({ ...entry, manifest_id: random.uuid() }));
  await store.manifests.copy(source.tenant, source.versions, to.tenant, versions);
  const copy: CatalogRecord = {
    ...source,
    ...to,
    version: source.version + 2,
    versions,
    status: 'arriving',
    arriving_from: { tenant: source.tenant, version: source.version },
  };
  if (!(await records.insert(copy))) {
    await store.manifests.remove(to.tenant, versions);
    return null;
  }
  const leaving: VisibleRecord = {
    ...source,
    version: source.version + 1,
    leaving_to: to.tenant,
    last_event: scopeChanged(store.kind, source, to, { by, at: isoTime(clock) }),
  };
  if (!(await records.replace(leaving, source.version))) {
    await store.drop(copy);
    return null;
  }
  await store.finishMove(leaving);
  return {
    ...copy,
    version: copy.version + 1,
    status: source.status,
    arriving_from: null,
    last_event: leaving.last_event,
  };
}

function nameTaken({ store }: Mover, name: string, { scope }: Namespace): SvcError {
  const { noun } = store.kind;
  return new SvcError('conflict', `${noun === 'agent' ? 'an' : 'a'} ${noun} ${name} exists in scope ${scope} already`, {
    field: 'name',
  });
}

const isoTime = (clock: Clock): string => new Date(clock.now()).toISOString();

interface Registration<Manifest> {
  readonly manifest: Manifest;
  readonly manifestYaml: string;
  readonly namespace: Namespace;
  readonly force: boolean;
  readonly change: Change;
  /** Inserts a new record. Returns false when another write was faster, an error when the insert is not allowed. */
  insert(record: CatalogRecord): Promise<boolean | SvcError>;
}

/** Adds the version to its record, retrying after concurrent writes. Returns the UUID of the agent or workflow. */
export async function register<Manifest extends ManifestHead>(
  store: ManifestStore<Manifest>,
  random: Random,
  { manifest, manifestYaml, namespace, force, change, insert }: Registration<Manifest>,
): Promise<string> {
  const { kind, records, log, manifests } = store;
  const { name, version } = manifest.metadata;
  const manifestId = random.uuid();
  // The manifest is stored first, so that a record never refers to a missing one.
  await manifests.add(namespace.tenant, manifestId, manifestYaml);
  const refuse = async (error: SvcError): Promise<never> => {
    await manifests.remove(namespace.tenant, [{ manifest_id: manifestId }]);
    throw error;
  };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await store.at(namespace, name);
    if (known !== null && !(await store.isSettled(known))) continue;
    const refusal = refusalOf(kind, manifest, known, force);
    if (refusal !== null) return refuse(refusal);
    const id = known?.id ?? random.uuid();
    const deploy = { namespace, id, manifestId, shown: kind.shown(manifest), ...change };
    const record = deployedRecord(kind, manifest, known, deploy);
    const written = known === null ? await insert(record) : await records.replace(record, known.version);
    if (written === false) continue;
    if (written !== true) return refuse(written);
    await log.record(record);
    const replaced = known?.versions.find((entry) => entry.version === version);
    if (replaced !== undefined) await manifests.remove(namespace.tenant, [replaced]);
    return id;
  }
  return refuse(busy(kind));
}
