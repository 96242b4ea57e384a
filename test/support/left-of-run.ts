import { addressOf } from '../../runtime/address.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** Where data of a run is left. `list`: the collection with the list of its kind. */
export async function leftOfRun(
  { client, archive }: Pick<Runtime, 'client' | 'archive'>,
  { store, documents }: Pick<OpenStores, 'store' | 'documents'>,
  run: { readonly kind: string; readonly tenant: string; readonly id: string; readonly list: string },
): Promise<string[]> {
  const { tenant, id } = run;
  const address = addressOf(run.kind, tenant, id);
  const partition = await client.partitionOf(address);
  const list = (name: string) => documents.collection({ name, unique: [], indexes: [] });
  const found: string[] = [];
  if ((await store.load(partition, [address]))[0] !== null) found.push('record');
  if ((await store.readEvents(partition, address, 0, 1)).length > 0) found.push('events');
  if ((await archive.loadRecord(address)) !== null) found.push('archive');
  if ((await (await list('archived_events')).count({ tenant, where: { address } })) > 0) found.push('archived events');
  if ((await (await list(run.list)).get(tenant, id)) !== null) found.push('list');
  return found;
}
