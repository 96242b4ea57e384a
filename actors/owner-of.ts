import { z } from 'zod';
import { addressOf } from '../runtime/address.ts';
import type { ActorClient } from '../runtime/client.ts';
import { Identity } from '../runtime/identity.ts';

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

/** Of the states of both kinds while they run; an ended one keeps its owner alone. */
const Started = z.object({ owner: z.string().optional(), identity: Identity.optional() });

/** Whether a caller started an execution or a run; undefined: it has ended, or there is none of this id, so nobody knows. */
export async function isStartedBy(
  client: Pick<ActorClient, 'read'>,
  { tenant, kind, subject }: Identity,
  id: string,
): Promise<boolean | undefined> {
  for (const area of ['workflow', 'execution']) {
    const snapshot = await client.read(addressOf(area, tenant, id));
    if (snapshot === null) continue;
    const { identity, owner } = Started.parse(snapshot.state);
    if (identity !== undefined) return identity.kind === kind && identity.subject === subject;
    return owner === undefined ? undefined : owner === subject;
  }
  return undefined;
}
