import { z } from 'zod';
import type { ActorStore } from '../actor-store.ts';
import { type Address, type Partition, parseAddress, tenantOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Registry } from '../define-actor.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import { jsonField } from '../json.ts';
import type { Locator } from '../locator.ts';
import { ARCHIVED_ACTORS, type Archive, type ArchivedActor } from '../projection/archive.ts';
import {
  DEAD_LETTERS,
  type DeadLetter,
  LEDGER,
  type LedgerSegment,
  packLines,
  unpackLines,
} from '../projection/ledger.ts';
import type { Views } from '../projection/views.ts';
import { decodeMessage } from '../turns/codec.ts';
import type { Payloads } from '../turns/payload.ts';

/** A removal that has begun. It is written before anything is removed, so that every sweep finds what a crash left. */
interface Removal extends StoredDocument {
  /** `request`: somebody deleted the actor; `retention`: it was old, or too much was kept. */
  readonly by: 'request' | 'retention';
  /** Unix ms. */
  readonly asked_at: number;
  /** From here on the ledger may have rows of it, Unix ms. */
  readonly since: number;
  /** When it was seen to be out of the store; null before. */
  readonly gone_at: number | null;
  /** Id of its document in the list of its kind. */
  readonly view_id: string;
}

/** An archived actor that is to be removed, and the id of its document in the list of its kind. */
interface OldActor {
  readonly address: Address;
  readonly viewId: string;
}

interface RemovalsParts {
  readonly store: Pick<ActorStore, 'load'>;
  readonly documents: Documents;
  readonly archive: Archive;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  readonly clock: Pick<Clock, 'now'>;
  readonly views: Views;
  /** How long a requested removal is guarded against what is still under way: late messages, the ledger's writer. */
  readonly guardedMs: number;
  /** Removes what else names removed actors of a tenant. May be called again for the same ones. */
  readonly forget: (tenant: string, addresses: readonly Address[]) => Promise<void>;
}

const STEP = 50;

const PARTS_AT_ONCE = 100;

/**
 * Removes ended actors whole: record, events, list document, payloads, dead letters, what belongs to them, and after a
 * requested removal their rows of the ledger. An actor that the projector has yet to archive is taken out of the store by
 * the projector, which looks here (`asked`) behind each archive that it writes.
 */
export class Removals {
  readonly #parts: RemovalsParts;
  readonly #removals: Collection<Removal>;
  readonly #actors: Collection<ArchivedActor>;
  readonly #deadLetters: Collection<DeadLetter>;

  static async open(parts: RemovalsParts): Promise<Removals> {
    const { documents } = parts;
    return new Removals(
      parts,
      await documents.collection<Removal>({ name: 'removals', unique: [], indexes: [] }),
      await documents.collection<ArchivedActor>(ARCHIVED_ACTORS),
      await documents.collection<DeadLetter>(DEAD_LETTERS),
    );
  }

  constructor(
    parts: RemovalsParts,
    removals: Collection<Removal>,
    actors: Collection<ArchivedActor>,
    deadLetters: Collection<DeadLetter>,
  ) {
    this.#parts = parts;
    this.#removals = removals;
    this.#actors = actors;
    this.#deadLetters = deadLetters;
  }

  /** Durable when it resolves: whatever happens, nothing of the ended actor stays. `since`: when it began, Unix ms. */
  async ask(address: Address, since = 0): Promise<void> {
    const asked = { by: 'request', since, view_id: parseAddress(address).id } as const;
    await this.#removals.insert(this.#removal(address, asked));
  }

  /** Those that somebody deleted. At most 1,000 are asked for. */
  async asked(addresses: readonly Address[]): Promise<ReadonlySet<Address>> {
    const asked = new Set<Address>();
    for (const [tenant, ids] of Map.groupBy(addresses, tenantOf)) {
      const found = await this.#removals.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
      for (const one of found) asked.add(addressOf(one));
    }
    return asked;
  }

  /** Removes now what can be removed now; the sweep does the rest. Answers whether all is done. */
  async finish(address: Address): Promise<boolean> {
    const removal = await this.#removals.get(tenantOf(address), address);
    return removal === null || this.#finish(address, removal);
  }

  /**
   * Removes archived actors of one tenant that are old, all together: one call of each kind, whatever their number, so that
   * removing keeps up with what ends. At most 100.
   */
  async removeOld(tenant: string, old: readonly OldActor[]): Promise<void> {
    if (old.length === 0) return;
    const removals = old.map(({ address, viewId }) =>
      this.#removal(address, { by: 'retention', since: 0, view_id: viewId }),
    );
    // Of one that somebody deleted the earlier removal stays.
    await this.#removals.putMany(removals);
    await this.#finishOld(tenant, removals);
  }

  /** Goes on with removals that have begun, oldest first; answers how many were finished. */
  async step(): Promise<number> {
    let finished = 0;
    const begun = await this.#removals.find({ tenant: null, sort: [['asked_at', 'asc']], limit: 1_000 });
    for (let at = 0; at < begun.length; at += STEP) {
      const some = begun.slice(at, at + STEP);
      const requested = some.filter(({ by }) => by === 'request');
      const done = await Promise.all(requested.map((one) => this.#finish(addressOf(one), one)));
      finished += done.filter(Boolean).length;
      const old = some.filter(({ by }) => by === 'retention');
      for (const [tenant, list] of Map.groupBy(old, (one) => one.tenant))
        finished += await this.#finishOld(tenant, list);
    }
    return finished;
  }

  #removal(address: Address, parts: Pick<Removal, 'by' | 'since' | 'view_id'>): Removal {
    const asked_at = this.#parts.clock.now();
    return { tenant: tenantOf(address), id: address, version: 1, asked_at, gone_at: null, ...parts };
  }

  /** Answers how many were removed. */
  async #finishOld(tenant: string, removals: readonly Removal[]): Promise<number> {
    const addresses = removals.map(addressOf);
    const where = { id: { in: addresses }, by: 'request' };
    const requested = await this.#removals.find({ tenant, where, limit: addresses.length });
    const left = new Set([...(await storedOf(this.#parts, addresses)), ...requested.map(addressOf)]);
    const going = removals.filter((one) => !left.has(addressOf(one)));
    if (going.length === 0) return 0;
    await this.#removeAll(tenant, going.map(addressOf));
    await this.#unlist(tenant, going);
    await Promise.all(going.map(({ id }) => this.#removals.delete(tenant, id)));
    return going.length;
  }

  /** Of a removal that somebody asked for. */
  async #finish(address: Address, removal: Removal): Promise<boolean> {
    const { locator, clock, guardedMs } = this.#parts;
    const { tenant } = removal;
    if (removal.gone_at !== null && clock.now() - removal.gone_at < guardedMs) return false;
    if (removal.by === 'retention') return (await this.#finishOld(tenant, [removal])) > 0;
    const partition = await locator.locate(address);
    if ((await storedOf(this.#parts, [address])).size > 0) return false;
    await this.#removeAll(tenant, [address]);
    const now = clock.now();
    if (removal.gone_at === null) {
      await this.#removals.replace({ ...removal, version: removal.version + 1, gone_at: now }, removal.version);
      return false;
    }
    const until = removal.gone_at + guardedMs;
    await eraseFromLedger(this.#parts, { address, partition, since: removal.since, until });
    await this.#unlist(tenant, [removal]);
    return this.#removals.delete(tenant, removal.id);
  }

  /** Every step may be repeated, and the first makes the actors unknown to every reader. */
  async #removeAll(tenant: string, addresses: readonly Address[]): Promise<void> {
    const { archive, payloads } = this.#parts;
    await Promise.all(addresses.map((address) => archive.removeRecord(address)));
    // Side by side: a store that groups its writes makes one of them.
    await Promise.all([
      archive.removeEvents(tenant, addresses),
      ...addresses.map((address) => payloads.discardAll(address)),
      this.#deadLetters.deleteMany({ tenant, where: { address: { in: addresses } } }),
      this.#removeParts(tenant, addresses),
    ]);
  }

  /** Approvals, sessions and panels go with what they belong to; a run of its own goes by its own rules. */
  async #removeParts(tenant: string, addresses: readonly Address[]): Promise<void> {
    const { registry } = this.#parts;
    for (let kept = 0; ; ) {
      const where = { parent: { in: addresses } };
      const children = await this.#actors.find({ tenant, where, limit: PARTS_AT_ONCE, skip: kept });
      const parts = children.filter((child) => registry.definitionOf(addressOf(child))?.isPart === true);
      await this.removeOld(tenant, parts.map(oldActor));
      kept += children.length - parts.length;
      if (children.length < PARTS_AT_ONCE) return;
    }
  }

  async #unlist(tenant: string, removals: readonly Removal[]): Promise<void> {
    const { registry, views, forget } = this.#parts;
    const addresses = removals.map(addressOf);
    const listed = removals.map(async ({ view_id }, index) => {
      const address = addresses[index];
      const collection = address === undefined ? undefined : registry.definitionOf(address)?.view?.collection;
      if (collection !== undefined) await views.get(collection)?.delete(tenant, view_id);
    });
    await Promise.all(listed);
    await forget(tenant, addresses);
  }
}

/** Those of the actors that are in the store: its projector takes an ended one out, and needs its payloads until then. */
export async function storedOf(
  { store, locator }: Pick<RemovalsParts, 'store' | 'locator'>,
  addresses: readonly Address[],
): Promise<ReadonlySet<Address>> {
  const partitions = await Promise.all(addresses.map((address) => locator.locate(address)));
  const byPartition = Map.groupBy(addresses.keys(), (index) => partitions[index]);
  const stored = new Set<Address>();
  await Promise.all(
    [...byPartition].map(async ([partition, indexes]) => {
      if (partition === undefined) return;
      const asked = indexes.flatMap((index) => addresses[index] ?? []);
      const records = await store.load(partition, asked);
      for (const [index, address] of asked.entries()) if ((records[index] ?? null) !== null) stored.add(address);
    }),
  );
  return stored;
}

/** How an archived actor is named to `removeOld`. */
export const oldActor = (actor: ArchivedActor): OldActor => ({
  address: addressOf(actor),
  viewId: actor.view_id ?? parseAddress(actor.id).id,
});

/** Of an archived actor, or of a removal. */
export const addressOf = ({ id }: StoredDocument): Address => {
  const { kind, tenant, id: own } = parseAddress(id);
  return `${kind}/${tenant}/${own}`;
};

/** Segments are large: so many are in memory at a time. */
const SEGMENTS = 10;

/** How far behind the end of an actor a segment that holds its rows may reach: of a quiet partition it covers long. */
const LATEST_MS = 3_600_000;

const Lines = z.array(z.tuple([z.number(), z.number(), z.number(), z.unknown(), jsonField]));

interface Erasing {
  readonly address: Address;
  readonly partition: Partition;
  /** The actor's deliveries were appended between the two, Unix ms. */
  readonly since: number;
  readonly until: number;
}

/**
 * Takes the deliveries of one actor out of the ledger. What it told others is theirs. A segment keeps its version, so
 * that a projector that writes the same commits again does not bring them back.
 */
async function eraseFromLedger(
  parts: { readonly documents: Documents; readonly payloads: Payloads },
  { address, partition, since, until }: Erasing,
): Promise<void> {
  const ledger: Collection<LedgerSegment> = await parts.documents.collection(LEDGER);
  const tenant = tenantOf(address);
  for (let skip = 0; ; skip += SEGMENTS) {
    const where = { partition, to_at: { gte: since, lte: until + LATEST_MS }, from_at: { lte: until } };
    const segments = await ledger.find({ tenant, where, sort: [['to_at', 'asc']], limit: SEGMENTS, skip });
    for (const segment of segments) {
      const lines = Lines.parse(JSON.parse(await unpackLines(segment.lines)));
      const kept: typeof lines = [];
      for (const line of lines) if (!(await isTo(parts.payloads, address, line[4]))) kept.push(line);
      if (kept.length === lines.length) continue;
      const packed = await packLines(JSON.stringify(kept));
      await ledger.replace({ ...segment, lines: packed, bytes: packed.length }, segment.version);
    }
    if (segments.length < SEGMENTS) return;
  }
}

/** A message that was stored aside for the actor was removed with its payloads, and belonged to nobody else. */
async function isTo(payloads: Payloads, address: Address, message: z.output<typeof jsonField>): Promise<boolean> {
  if (typeof message !== 'string') return isAddressed(message, address);
  const body = message;
  if (!body.startsWith('@')) return false;
  if (payloads.isOf(body, address)) return true;
  try {
    return (await decodeMessage(payloads, body)).to === address;
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (error.code === 'unavailable') throw error;
    return false;
  }
}

const isAddressed = (message: z.output<typeof jsonField>, address: Address): boolean =>
  message !== null && typeof message === 'object' && !Array.isArray(message) && message.to === address;
