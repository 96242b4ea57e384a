import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import { MAX_ATTEMPTS, type ManifestStore } from './manifest-store.ts';
import { type CatalogRecord, isVisible, type ManifestHead, type Place, type VisibleRecord } from './record.ts';
import { busy, type Change, deployedRecord, refusalOf, scopeChanged } from './rules.ts';

interface Mover {
  readonly store: ManifestStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly by: string;
}

/**
 * Puts an agent or workflow into another place and answers its record there. Inside a tenant that is one compare-and-set. Into
 * another one it takes three: a hidden copy keeps the place, the source says where it is leaving to (this decides), the
 * copy is shown and the source goes. A crash in between is repaired by whoever touches either record next.
 * Null when it was moved or deleted meanwhile; throws
 * `conflict` when the name is taken there.
 */
export async function moveRecord(mover: Mover, known: VisibleRecord, to: Place): Promise<VisibleRecord | null> {
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
        // Deleted meanwhile, it is unknown, whoever has its name by now.
        const still: CatalogRecord | null = await store.records.get(source.tenant, source.id);
        if (still?.version === source.version) throw nameTaken(mover, source.name, to);
      }
    }
    source = await store.records.get(source.tenant, source.id);
  }
  throw busy(store.kind);
}

const sameScope = (a: CatalogRecord, b: CatalogRecord): boolean => a.scope === b.scope && a.owner === b.owner;

/** Null when somebody else was faster. */
async function moveInside(
  { store, clock, by }: Mover,
  source: VisibleRecord,
  to: Place,
): Promise<VisibleRecord | null> {
  const last_event = scopeChanged(store.kind, source, to, { by, at: isoTime(clock) });
  const moved: VisibleRecord = { ...source, ...to, version: source.version + 1, last_event };
  try {
    if (!(await store.records.replace(moved, source.version))) return null;
  } catch (thrown) {
    // The name was taken there meanwhile.
    if (thrown instanceof SvcError && thrown.code === 'conflict') return null;
    throw thrown;
  }
  await store.log.record(moved);
  return moved;
}

/** Null when somebody else was faster. */
async function moveAcross(mover: Mover, source: VisibleRecord, to: Place): Promise<VisibleRecord | null> {
  const { store, clock, random, by } = mover;
  const { records } = store;
  // Texts under ids of their own: those of the source go with it, whenever that may be.
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

function nameTaken({ store }: Mover, name: string, { scope }: Place): SvcError {
  const { noun } = store.kind;
  return new SvcError('conflict', `${noun === 'agent' ? 'an' : 'a'} ${noun} ${name} exists in scope ${scope} already`, {
    field: 'name',
  });
}

const isoTime = (clock: Clock): string => new Date(clock.now()).toISOString();

interface Registration<Manifest> {
  readonly manifest: Manifest;
  readonly manifestYaml: string;
  readonly place: Place;
  readonly force: boolean;
  readonly change: Change;
  /** Puts a new record in; false when another was faster, an error when it may not be. */
  insert(record: CatalogRecord): Promise<boolean | SvcError>;
}

/** Puts the version into its record, whoever else writes it meanwhile. Answers the UUID of the agent or workflow. */
export async function register<Manifest extends ManifestHead>(
  store: ManifestStore<Manifest>,
  random: Random,
  { manifest, manifestYaml, place, force, change, insert }: Registration<Manifest>,
): Promise<string> {
  const { kind, records, log, manifests } = store;
  const { name, version } = manifest.metadata;
  const manifestId = random.uuid();
  // The text goes in first: a record never points to a text that is not there.
  await manifests.add(place.tenant, manifestId, manifestYaml);
  const refuse = async (error: SvcError): Promise<never> => {
    await manifests.remove(place.tenant, [{ manifest_id: manifestId }]);
    throw error;
  };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await store.at(place, name);
    if (known !== null && !(await store.isSettled(known))) continue;
    const refusal = refusalOf(kind, manifest, known, force);
    if (refusal !== null) return refuse(refusal);
    const id = known?.id ?? random.uuid();
    const deploy = { place, id, manifestId, shown: kind.shown(manifest), ...change };
    const record = deployedRecord(kind, manifest, known, deploy);
    const written = known === null ? await insert(record) : await records.replace(record, known.version);
    if (written === false) continue;
    if (written !== true) return refuse(written);
    await log.record(record);
    const replaced = known?.versions.find((entry) => entry.version === version);
    if (replaced !== undefined) await manifests.remove(place.tenant, [replaced]);
    return id;
  }
  return refuse(busy(kind));
}
