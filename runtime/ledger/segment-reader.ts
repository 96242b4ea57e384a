import type { Collection, Documents } from '../documents.ts';
import { BoundedCache } from '../kit/bounded-cache.ts';
import type { Payloads } from '../turns/payload.ts';
import type { SegmentRef } from './key-pages.ts';
import type { LedgerDelivery } from './ledger-reader.ts';
import { deliveriesOf, linesOf } from './lines.ts';
import { unpackLines } from './packing.ts';
import { placeOfSegment, type SegmentPlace } from './segment-names.ts';
import { LEDGER, type LedgerSegment } from './segments.ts';

/** Bytes of unpacked segments in memory. */
const MOST_BYTES = 32_000_000;

/**
 * How long an unpacked segment may be used. Deliveries of an actor that a caller deleted are erased from its segments,
 * and no answer may show them for long after that.
 */
const USED_MS = 15_000;

/** Segments that are read together. */
const AT_ONCE = 32;

/** Bytes of decoded deliveries in memory: the pages of one reading find the same lines again. */
const MOST_DECODED_BYTES = 32_000_000;
/** A decoded delivery takes this many times the characters of its body, roughly. */
const DECODED_FACTOR = 5;

interface Unpacked {
  readonly text: string;
  readonly node: string | undefined;
  readonly at: number;
}

/** Which deliveries of a segment are wanted. */
export interface Wanted {
  /** Text that every line of such a delivery contains; null for all lines. */
  readonly part: string | null;
  readonly fits: (delivery: LedgerDelivery) => boolean;
}

/** Reads the deliveries of segments, with the segments used last in memory. */
export class SegmentReader {
  readonly segments: Collection<LedgerSegment>;
  readonly #payloads: Payloads;
  readonly #clock: { monotonic(): number };
  readonly #unpacked = new BoundedCache<string, Unpacked>(MOST_BYTES);
  /** By segment and the text that the lines contain, with the time at which the segment was read. */
  readonly #decoded = new BoundedCache<string, { readonly at: number; readonly deliveries: readonly LedgerDelivery[] }>(
    MOST_DECODED_BYTES,
  );

  static async open(parts: {
    readonly documents: Documents;
    readonly payloads: Payloads;
    readonly clock: { monotonic(): number };
  }): Promise<SegmentReader> {
    return new SegmentReader(await parts.documents.collection<LedgerSegment>(LEDGER), parts.payloads, parts.clock);
  }

  constructor(segments: Collection<LedgerSegment>, payloads: Payloads, clock: { monotonic(): number }) {
    this.segments = segments;
    this.#payloads = payloads;
    this.#clock = clock;
  }

  /** The wanted deliveries of these segments of a tenant. Those of segments that were removed are missing. */
  async read(tenant: string, refs: readonly SegmentRef[], wanted: Wanted): Promise<LedgerDelivery[]> {
    const found: LedgerDelivery[] = [];
    for (let at = 0; at < refs.length; at += AT_ONCE) {
      const some = refs.slice(at, at + AT_ONCE);
      const texts = await this.#texts(tenant, new Set(some.map(({ id }) => id)));
      for (const ref of some) {
        const unpacked = texts.get(ref.id);
        if (unpacked === undefined) continue;
        // The segment may have been written again with more deliveries, which belong to a later round.
        for (const one of await this.#decode(tenant, ref, unpacked, wanted.part))
          if (one.seq <= ref.last && wanted.fits(one)) found.push(one);
      }
    }
    return found;
  }

  /** The deliveries of the lines of a segment that contain a text. */
  async #decode(
    tenant: string,
    ref: SegmentRef,
    of: Unpacked,
    part: string | null,
  ): Promise<readonly LedgerDelivery[]> {
    const name = `${tenant}/${ref.id} ${part ?? ''}`;
    const known = this.#decoded.get(name);
    if (known?.at === of.at) return known.deliveries;
    const deliveries = await this.unpack(placeOfSegment(ref), of, { part, fits: () => true });
    const chars = deliveries.reduce((sum, { body }) => sum + body.length, 0);
    this.#decoded.put(name, { at: of.at, deliveries }, chars * DECODED_FACTOR);
    return deliveries;
  }

  /** The wanted deliveries of a segment that was read. */
  async unpack(
    place: SegmentPlace,
    { text, node }: Pick<Unpacked, 'text' | 'node'>,
    { part, fits }: Wanted,
  ): Promise<LedgerDelivery[]> {
    const found: LedgerDelivery[] = [];
    for (const line of linesOf(text, part)) {
      for (const one of await deliveriesOf(this.#payloads, { place, node }, line)) if (fits(one)) found.push(one);
    }
    return found;
  }

  async #texts(tenant: string, ids: ReadonlySet<string>): Promise<Map<string, Unpacked>> {
    const texts = new Map<string, Unpacked>();
    const missing: string[] = [];
    for (const id of ids) {
      const known = this.#unpacked.get(`${tenant}/${id}`);
      if (known === undefined || this.#clock.monotonic() - known.at > USED_MS) missing.push(id);
      else texts.set(id, known);
    }
    if (missing.length === 0) return texts;
    const at = this.#clock.monotonic();
    const read = await this.segments.find({ tenant, where: { id: { in: missing } }, limit: missing.length });
    await Promise.all(
      read.map(async ({ id, node, lines }) => {
        const unpacked = { text: await unpackLines(lines), node, at };
        texts.set(id, unpacked);
        this.#unpacked.put(`${tenant}/${id}`, unpacked, unpacked.text.length);
      }),
    );
    return texts;
  }
}
