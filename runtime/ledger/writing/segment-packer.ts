import { type Address, type Partition, type SharedLog, tenantOf } from '../../address.ts';
import { countOf } from '../../leases.ts';
import { TenantHashes } from '../key-hash.ts';
import type { RoundKeys } from '../key-run.ts';
import { keysIn } from '../keys.ts';
import { packBytes } from '../packing.ts';
import {
  groupOf,
  groupSegmentId,
  type PartitionGroup,
  partitionSegmentId,
  type SegmentStart,
} from '../segment-names.ts';
import { type LedgerSegment, MAX_SEGMENT_MS } from '../segments.ts';
import { LineBytes, type LineMemory } from './line-bytes.ts';
import { MessageKeys } from './message-keys.ts';
import { COMMIT, DELIVERY, type MoreOfDelivery, type RecordedDeliveries } from './recorded-commits.ts';

/** Most bytes of the lines of a segment, so that packing it is quick and it fits into every document store. */
const MAX_SEGMENT_BYTES = 256_000;

/** A segment that collects lines. */
interface OpenSegment {
  readonly tenant: string;
  readonly hashes: TenantHashes;
  readonly partition: Partition | PartitionGroup;
  readonly id: string;
  readonly node: string | null;
  readonly first: number;
  last: number;
  from: number;
  to: number;
  readonly lines: LineBytes;
  /** Its number among the segments of the round's keys. */
  readonly ordinal: number;
}

/** A partition, or the group of it: their deliveries share segments. */
interface OpenGroup {
  readonly name: Partition | PartitionGroup;
  readonly segments: Map<string, OpenSegment>;
  /** The tenant whose delivery came last. */
  last: { readonly tenant: string; readonly bytes: Buffer } | null;
}

/** The target of a partition's deliveries: its own segments, or those of its group. */
interface SegmentTarget {
  readonly group: OpenGroup;
  readonly idOf: (start: SegmentStart) => string;
  /** In a segment of a group. */
  readonly number: number | null;
}

/** Commits in shared memory, with what their numbers mean. */
interface Source {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly placeOf: (number: number) => SegmentTarget;
  readonly nodes: readonly (string | null)[];
}

/** A segment with the size of its lines before they were packed. */
export interface PackedSegment {
  readonly segment: LedgerSegment;
  readonly size: number;
}

/**
 * Makes segments of recorded deliveries of several logs. Those of one tenant that one node handled go into the same
 * segment: those of a partition, or of a group of partitions that share the log. So there are few segments.
 */
export class SegmentPacker {
  /** By partition or group. */
  readonly #groups = new Map<Partition | PartitionGroup, OpenGroup>();
  readonly #places = new Map<Partition, SegmentTarget>();
  readonly #found = new MessageKeys();
  readonly #memory: LineMemory;
  readonly #keys: RoundKeys;
  #log: SharedLog | null = null;
  #done: PackedSegment[] = [];
  /** Bytes of the lines that were not taken yet. */
  #size = 0;

  constructor(keys: RoundKeys, memory: LineMemory) {
    this.#keys = keys;
    this.#memory = memory;
  }

  get size(): number {
    return this.#size;
  }

  add({ log, partitions, nodes, pieces }: RecordedDeliveries): void {
    if (log !== this.#log) {
      this.#closeAll();
      this.#places.clear();
      this.#log = log;
    }
    const places: SegmentTarget[] = [];
    const placeOf = (number: number): SegmentTarget => {
      places[number] ??= this.#placeOf(partitions[number]);
      return places[number];
    };
    for (const { bytes: shared, from, to } of pieces) {
      const source = { bytes: Buffer.from(shared), view: new DataView(shared), placeOf, nodes };
      for (let at = from; at < to; ) at = this.#addCommit(source, at);
    }
  }

  /** Returns where the commit ends. */
  #addCommit({ bytes, view, placeOf, nodes }: Source, first: number): number {
    const end = first + view.getUint32(first + COMMIT.bytes);
    const epoch = view.getFloat64(first + COMMIT.epoch);
    const node = nodes[view.getUint32(first + COMMIT.node)] ?? null;
    let turn = first + COMMIT.end;
    for (let from = turn + view.getUint32(first + COMMIT.turns); from < end; ) {
      const message = from + DELIVERY.end;
      const messageEnd = message + view.getUint32(from + DELIVERY.message);
      const turnEnd = turn + view.getUint32(from + DELIVERY.turn);
      const [seq, at] = [view.getFloat64(from + DELIVERY.seq), view.getFloat64(from + DELIVERY.at)];
      const place = placeOf(view.getUint32(from + DELIVERY.partition));
      from = messageEnd + view.getUint32(from + DELIVERY.more);
      const more = this.#moreOf(bytes, message, messageEnd, from);
      const tenant = more === null ? this.#tenantIn(bytes, place.group) : tenantOf(more.to);
      const segment = this.#segmentFor(tenant, place, { node, seq, at, epoch, size: messageEnd - message });
      if (more === null) this.#addFound(segment, bytes);
      else if (more.keys !== null) this.#addKnown(segment, more.to, more.keys);
      const before = segment.lines.length;
      segment.lines.begin(seq, at, epoch);
      segment.lines.add(bytes, turn, turnEnd);
      segment.lines.add(bytes, message, messageEnd);
      segment.lines.end(place.number);
      this.#size += segment.lines.length - before;
      segment.last = seq;
      // The time of a result is this node's estimate of the store's clock, so it may be out of order.
      segment.from = Math.min(segment.from, at);
      segment.to = Math.max(segment.to, at);
      turn = turnEnd + 1;
    }
    return end;
  }

  /** The keys that a message does not contain in the usual encoding. Null: all keys were found in it. */
  #moreOf(bytes: Buffer, from: number, to: number, end: number): MoreOfDelivery | null {
    if (end === to) return this.#found.find(bytes, from, to) ? null : keysIn(bytes.toString('utf8', from, to));
    const more: MoreOfDelivery = JSON.parse(bytes.toString('utf8', to, end));
    return more;
  }

  #placeOf(partition: Partition | undefined): SegmentTarget {
    if (partition === undefined) throw new RangeError('a delivery without its partition');
    const known = this.#places.get(partition);
    if (known !== undefined) return known;
    const log = this.#log;
    let place: SegmentTarget;
    if (log === null) {
      place = { group: this.#groupOf(partition), idOf: (start) => partitionSegmentId(partition, start), number: null };
    } else {
      const { group, number } = groupOf(partition);
      place = { group: this.#groupOf(group), idOf: (start) => groupSegmentId(group, log, start), number };
    }
    this.#places.set(partition, place);
    return place;
  }

  #groupOf(name: Partition | PartitionGroup): OpenGroup {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, segments: new Map(), last: null };
      this.#groups.set(name, group);
    }
    return group;
  }

  /** The tenant of the message that was found, mostly that of the delivery before it. */
  #tenantIn(bytes: Buffer, group: OpenGroup): string {
    const { from, to } = this.#found.tenant;
    const { last } = group;
    if (last !== null && isEqual(bytes, from, to, last.bytes)) return last.tenant;
    const tenant = bytes.toString('latin1', from, to);
    group.last = { tenant, bytes: Buffer.from(tenant) };
    return tenant;
  }

  /** The open segment for a delivery. A new one is begun when the old one is full or covers too long a time. */
  #segmentFor(
    tenant: string,
    place: SegmentTarget,
    { node, seq, at, epoch, size }: SegmentStart & { readonly node: string | null; readonly size: number },
  ): OpenSegment {
    const { name, segments } = place.group;
    const found = segments.get(tenant);
    if (found !== undefined) {
      const isFull =
        found.lines.length + size > MAX_SEGMENT_BYTES ||
        at - found.from > MAX_SEGMENT_MS ||
        found.to - at > MAX_SEGMENT_MS;
      if (found.node === node && !isFull) return found;
      this.#close(found);
    }
    const segment = {
      tenant,
      hashes: found?.hashes ?? new TenantHashes(tenant),
      partition: name,
      id: place.idOf({ seq, at, epoch }),
      node,
      first: seq,
      last: seq,
      from: at,
      to: at,
      lines: new LineBytes(this.#memory),
      ordinal: this.#keys.begin(),
    };
    segments.set(tenant, segment);
    return segment;
  }

  #addFound({ ordinal, hashes }: OpenSegment, bytes: Buffer): void {
    const { to, id, trace, cause, effect } = this.#found;
    this.#keys.addOften(ordinal, hashes.ofBytes('actor', bytes, to.from, to.to));
    this.#keys.add(ordinal, hashes.ofBytes('message', bytes, id.from, id.to));
    this.#keys.add(ordinal, hashes.ofBytes('trace', bytes, trace.from, trace.to));
    if (cause.to > 0) this.#keys.add(ordinal, hashes.ofBytes('cause', bytes, cause.from, cause.to));
    if (effect.to > 0) this.#keys.add(ordinal, hashes.ofBytes('effect', bytes, effect.from, effect.to));
  }

  #addKnown(segment: OpenSegment, to: Address, keys: NonNullable<MoreOfDelivery['keys']>): void {
    this.#keys.add(segment.ordinal, segment.hashes.of('actor', to));
    this.#addMessage(segment, keys);
    for (const one of keys.drained ?? []) this.#addMessage(segment, one);
  }

  #addMessage(
    { ordinal, hashes }: OpenSegment,
    { id, cause, trace, effect }: NonNullable<MoreOfDelivery['keys']>,
  ): void {
    this.#keys.add(ordinal, hashes.of('message', id));
    this.#keys.add(ordinal, hashes.of('trace', trace));
    if (cause !== null) this.#keys.add(ordinal, hashes.of('cause', cause));
    if (effect !== null) this.#keys.add(ordinal, hashes.of('effect', effect));
  }

  #close({ tenant, partition, id, node, first, last, from, to, lines: open, ordinal }: OpenSegment): void {
    this.#keys.name(ordinal, { tenant, id, last, from, to });
    const size = open.length;
    const lines = open.take(packBytes);
    const ends = { from_at: from, to_at: to };
    const segment = { tenant, id, version: countOf(last), partition, first, last, ...ends, lines, bytes: lines.length };
    this.#done.push({ segment: node === null ? segment : { ...segment, node }, size });
  }

  #closeAll(): void {
    for (const { segments } of this.#groups.values()) for (const segment of segments.values()) this.#close(segment);
    this.#groups.clear();
    this.#places.clear();
  }

  /** Takes all segments collected so far. */
  take(): PackedSegment[] {
    this.#closeAll();
    const taken = this.#done;
    [this.#done, this.#size] = [[], 0];
    return taken;
  }
}

function isEqual(bytes: Uint8Array, from: number, to: number, other: Uint8Array): boolean {
  if (to - from !== other.length) return false;
  for (let at = 0; at < other.length; at += 1) if (bytes[from + at] !== other[at]) return false;
  return true;
}
