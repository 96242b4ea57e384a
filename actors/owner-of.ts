import { z } from 'zod';
import { addressOf } from '../runtime/address.ts';
import type { ActorClient } from '../runtime/client.ts';

/** Of the states of both kinds (runtime/viewer.ts). */
const Owned = z.object({ owner: z.string().optional() });

/** Subject whose own an execution or a run is; undefined: it is its tenant's, or there is none of this id. */
export async function ownerOfRun(
  client: Pick<ActorClient, 'read'>,
  tenant: string,
  id: string,
): Promise<string | undefined> {
  for (const kind of ['workflow', 'execution']) {
    const snapshot = await client.read(addressOf(kind, tenant, id));
    if (snapshot !== null) return Owned.parse(snapshot.state).owner;
  }
  return undefined;
}
