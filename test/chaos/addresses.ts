import { randomUUID } from 'node:crypto';
import { type Address, addressOf, type Partition, partitionOf } from '../../runtime/address.ts';
import { PARTITIONS } from '../support/cluster/cluster.ts';

export const TENANT = 'acme';

/** The home partition of an actor. */
export const homeOf = (address: Address): Partition =>
  partitionOf(address, { pool: 'default', partitions: PARTITIONS });

/** A fresh address of this kind that lives in one of these partitions. */
export function freshIn(kind: string, held: ReadonlyMap<Partition, number>): Address {
  for (let tries = 0; tries < 100_000; tries += 1) {
    const address = addressOf(kind, TENANT, randomUUID());
    if (held.has(homeOf(address))) return address;
  }
  throw new Error(`no address of kind ${kind} was found for ${held.size} partitions`);
}
