import type { Documents } from '../runtime/documents.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import type { Random } from '../runtime/random.ts';

/** Name of this installation: all nodes with the same stores have the same; made at their first start. */
export async function installationId(documents: Documents, random: Random): Promise<string> {
  const installations = await documents.collection<{
    readonly tenant: string;
    readonly id: string;
    readonly version: number;
    readonly name: string;
  }>({ name: 'installation', unique: [], indexes: [] });
  const key = { tenant: SYSTEM_TENANT, id: 'this' };
  const mine = { ...key, version: 1, name: random.uuid() };
  if (await installations.insert(mine)) return mine.name;
  return (await installations.get(key.tenant, key.id))?.name ?? mine.name;
}
