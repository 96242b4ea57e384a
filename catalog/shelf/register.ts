import type { SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import type { ManifestHead } from './kind.ts';
import type { Place, ShelfRecord } from './record.ts';
import { busy, type Change, deployedRecord, refusalOf } from './rules.ts';
import { MAX_ATTEMPTS, type Shelf } from './shelf.ts';

export interface Registration<Manifest> {
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
