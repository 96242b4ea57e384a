import { SvcError } from './errors.ts';

/**
 * Names an actor: `kind/tenant/id`. The tenant is part of every address, so no read or write path exists without it
 * (K1).
 */
export type Address = `${string}/${string}/${string}`;

/** One part of a pool, `pool:number`. One node at a time holds its lease and serves every actor in it (K2). */
export type Partition = `${string}:${number}`;

/** Name of a log that several partitions of one node share. Each new log gets a new random name. */
export type SharedLog = `log-${string}`;

/**
 * The unit that one holder reads: a mailbox with its cursor, journal and lease. A partition has its own log, with the
 * same name.
 */
export type Log = Partition | SharedLog;

export const isSharedLog = (log: Log): log is SharedLog => log.startsWith('log-') && !log.includes(':');

/** Whether a stored name is the name of a partition. */
export const isPartition = (name: string): name is Partition => /^.+:\d+$/.test(name);

/** Whether a stored name is the name of a log. */
export const isLog = (name: string): name is Log => isPartition(name) || name.startsWith('log-');

/** A pool's name and its partition count, which never changes after the first start. */
export interface PoolLayout {
  readonly pool: string;
  readonly partitions: number;
}

interface AddressParts {
  readonly kind: string;
  readonly tenant: string;
  readonly id: string;
}

/** A part of an address. */
export const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/;

/** Builds an address. Throws `invalid_argument` when a part contains a character that could end its segment. */
export function addressOf(kind: string, tenant: string, id: string): Address {
  checkSegment('kind', kind);
  checkSegment('tenant', tenant);
  checkSegment('id', id);
  return `${kind}/${tenant}/${id}`;
}

function checkSegment(name: string, value: string): void {
  if (SEGMENT.test(value)) return;
  throw new SvcError('invalid_argument', `${name} of an address must match ${SEGMENT.source}`, { field: name });
}

export function parseAddress(address: string): AddressParts {
  const tenantAt = address.indexOf('/') + 1;
  const idAt = address.indexOf('/', tenantAt) + 1;
  if (tenantAt === 0 || idAt === 0 || address.includes('/', idAt)) {
    throw new SvcError('invalid_argument', 'an address is kind/tenant/id', { field: 'address' });
  }
  const parts = {
    kind: address.slice(0, tenantAt - 1),
    tenant: address.slice(tenantAt, idAt - 1),
    id: address.slice(idAt),
  };
  checkSegment('kind', parts.kind);
  checkSegment('tenant', parts.tenant);
  checkSegment('id', parts.id);
  return parts;
}

const WHOLE = new RegExp(`^${[SEGMENT, SEGMENT, SEGMENT].map(({ source }) => source.slice(1, -1)).join('/')}$`);

/** Whether a value from outside is an address. */
export const isAddress = (value: unknown): value is Address => typeof value === 'string' && WHOLE.test(value);

/** Takes a text that was stored as an address. Throws `invalid_argument` when it is none. */
export function asAddress(text: string): Address {
  if (isAddress(text)) return text;
  const { kind, tenant, id } = parseAddress(text);
  return addressOf(kind, tenant, id);
}

/** The tenant of an address built by `addressOf`. */
export const tenantOf = (address: string): string => address.slice(address.indexOf('/') + 1, address.lastIndexOf('/'));

/**
 * Home partition of an address: its hash modulo the pool's partition count. It is the same in all processes and
 * versions.
 */
export function partitionOf(address: Address, layout: PoolLayout): Partition {
  return `${layout.pool}:${hashOf(address) % layout.partitions}`;
}

/**
 * FNV-1a over the UTF-16 code units, finished as in MurmurHash3: cheap, and evenly spread for ids that differ little.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The pool that a partition belongs to. */
export const poolOf = (partition: Partition): string => partition.slice(0, partition.lastIndexOf(':'));

/** All partitions of a pool in order. */
export function partitionsOf(layout: PoolLayout): Partition[] {
  return Array.from({ length: layout.partitions }, (_, n): Partition => `${layout.pool}:${n}`);
}
