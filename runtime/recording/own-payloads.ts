import type { Address } from '../address.ts';
import { tenantOf } from '../address.ts';
import type { Blobs } from '../blobs.ts';
import { ownerPart } from '../documents/blob-reference.ts';
import { SvcError } from '../errors.ts';
import { type Json, plainJson } from '../json.ts';
import { ForkedWork, withNewIds } from './forked-work.ts';

/**
 * What a fork begins with, with copies of the payloads in Blobs that it refers to, such as the earlier part of a long
 * conversation. Those of the original are removed with the original. Throws `failed_precondition` when one is removed
 * already. The same call again makes the same copies.
 */
export async function withOwnPayloads(
  work: ForkedWork,
  { original, fork }: { readonly original: Address; readonly fork: Address },
  blobs: Pick<Blobs, 'get' | 'put'>,
): Promise<ForkedWork> {
  const plain = plainJson(work);
  const copies = new Map<string, string>();
  const tenant = tenantOf(original);
  for (const ref of referencesIn(plain, ownerPart(original))) {
    const bytes = await bytesOf(blobs, tenant, ref);
    copies.set(ref, await blobs.put(tenant, bytes, fork));
  }
  return copies.size === 0 ? work : ForkedWork.parse(withNewIds(plain, copies));
}

async function bytesOf(blobs: Pick<Blobs, 'get'>, tenant: string, ref: string): Promise<Uint8Array> {
  try {
    return await blobs.get(tenant, ref);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'not_found') throw thrown;
    throw new SvcError('failed_precondition', 'the run cannot be forked: a payload that it needs was removed');
  }
}

/** The texts in a value that are references to payloads of this owner. */
function referencesIn(value: Json, owner: string): ReadonlySet<string> {
  const found = new Set<string>();
  const isReference = new RegExp(`^[0-9a-f]{64}\\.${owner}$`);
  const look = (one: Json): void => {
    if (typeof one === 'string') {
      if (isReference.test(one)) found.add(one);
    } else if (one !== null && typeof one === 'object') {
      for (const member of Object.values(one)) look(member);
    }
  };
  look(value);
  return found;
}
