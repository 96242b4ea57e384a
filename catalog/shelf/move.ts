import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import { isSeen, type ManifestHead, type Place, type SeenRecord, type ShelfRecord } from './record.ts';
import { busy, type Change, deployedRecord, refusalOf, scopeChanged } from './rules.ts';
import { MAX_ATTEMPTS, type Shelf } from './shelf.ts';

interface Mover {
  readonly shelf: Shelf;
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
export async function moveRecord(mover: Mover, known: SeenRecord, to: Place): Promise<SeenRecord | null> {
  const { shelf } = mover;
  let source: ShelfRecord | null = known;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (source === null || !isSeen(source) || !sameScope(source, known)) return null;
    if (await shelf.isSettled(source)) {
      const taken = await shelf.at(to, source.name);
      if (taken === null) {
        const moved = await (to.tenant === source.tenant
          ? moveInside(mover, source, to)
          : moveAcross(mover, source, to));
        if (moved !== null) return moved;
      } else if (await shelf.isSettled(taken)) {
        // Deleted meanwhile, it is unknown, whoever has its name by now.
        const still: ShelfRecord | null = await shelf.records.get(source.tenant, source.id);
        if (still?.version === source.version) throw nameTaken(mover, source.name, to);
      }
    }
    source = await shelf.records.get(source.tenant, source.id);
  }
  throw busy(shelf.kind);
}

const sameScope = (a: ShelfRecord, b: ShelfRecord): boolean => a.scope === b.scope && a.owner === b.owner;

/** Null when somebody else was faster. */
async function moveInside({ shelf, clock, by }: Mover, source: SeenRecord, to: Place): Promise<SeenRecord | null> {
  const last_event = scopeChanged(shelf.kind, source, to, { by, at: isoTime(clock) });
  const moved: SeenRecord = { ...source, ...to, version: source.version + 1, last_event };
  try {
    if (!(await shelf.records.replace(moved, source.version))) return null;
  } catch (thrown) {
    // The name was taken there meanwhile.
    if (thrown instanceof SvcError && thrown.code === 'conflict') return null;
    throw thrown;
  }
  await shelf.log.record(moved);
  return moved;
}

/** Null when somebody else was faster. */
async function moveAcross(mover: Mover, source: SeenRecord, to: Place): Promise<SeenRecord | null> {
  const { shelf, clock, random, by } = mover;
  const { records } = shelf;
  // Texts under ids of their own: those of the source go with it, whenever that may be.
  const versions = source.versions.map((entry) => ({ ...entry, manifest_id: random.uuid() }));
  await shelf.manifests.copy(source.tenant, source.versions, to.tenant, versions);
  const copy: ShelfRecord = {
    ...source,
    ...to,
    version: source.version + 2,
    versions,
    status: 'arriving',
    arriving_from: { tenant: source.tenant, version: source.version },
  };
  if (!(await records.insert(copy))) {
    await shelf.manifests.remove(to.tenant, versions);
    return null;
  }
  const leaving: SeenRecord = {
    ...source,
    version: source.version + 1,
    leaving_to: to.tenant,
    last_event: scopeChanged(shelf.kind, source, to, { by, at: isoTime(clock) }),
  };
  if (!(await records.replace(leaving, source.version))) {
    await shelf.drop(copy);
    return null;
  }
  await shelf.finishMove(leaving);
  return {
    ...copy,
    version: copy.version + 1,
    status: source.status,
    arriving_from: null,
    last_event: leaving.last_event,
  };
}

function nameTaken({ shelf }: Mover, name: string, { scope }: Place): SvcError {
  const { noun } = shelf.kind;
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
  insert(record: ShelfRecord): Promise<boolean | SvcError>;
}

/** Puts the version into its record, whoever else writes it meanwhile. Answers the UUID of the agent or workflow. */
export async function register<Manifest extends ManifestHead>(
  shelf: Shelf<Manifest>,
  random: Random,
  { manifest, manifestYaml, place, force, change, insert }: Registration<Manifest>,
): Promise<string> {
  const { kind, records, log, manifests } = shelf;
  const { name, version } = manifest.metadata;
  const manifestId = random.uuid();
  // The text goes in first: a record never points to a text that is not there.
  await manifests.add(place.tenant, manifestId, manifestYaml);
  const refuse = async (error: SvcError): Promise<never> => {
    await manifests.remove(place.tenant, [{ manifest_id: manifestId }]);
    throw error;
  };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await shelf.at(place, name);
    if (known !== null && !(await shelf.isSettled(known))) continue;
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
