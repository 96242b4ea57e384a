import type { Documents, Find, Stored } from '../documents.ts';
import type { Payloads } from '../turns/payload.ts';
import type { LedgerDelivery } from './ledger-reader.ts';
import { unpackLines } from './packing.ts';
import { placeOfSegment } from './segment-names.ts';
import { SegmentReader } from './segment-reader.ts';

/** How far back new segments are searched for, because partitions and nodes do not write them in order of time. */
const OVERLAP_MS = 15_000;

/** Most segments in one look. */
const MOST_SEGMENTS = 1_000;

/** Segments that are read together. */
const AT_ONCE = 16;

/** Deliveries that were written to a tenant's ledger since the last read. */
export interface LedgerNews {
  readonly deliveries: readonly LedgerDelivery[];
  /** Deliveries that were written but not read, because there were too many. */
  readonly skipped: number;
}

/** Reads what nodes write to the ledger of one tenant, segment by segment. Each segment is read once. */
export class LedgerTail {
  readonly #reader: SegmentReader;
  readonly #tenant: string;
  /** Version of each segment that was seen, by id. */
  #seen: ReadonlyMap<string, number> | null = null;
  #lastAt: number;

  static async open(parts: {
    readonly documents: Documents;
    readonly payloads: Payloads;
    readonly clock: { monotonic(): number; now(): number };
    readonly tenant: string;
  }): Promise<LedgerTail> {
    const tail = new LedgerTail(await SegmentReader.open(parts), parts.tenant, parts.clock.now());
    await tail.read(0);
    return tail;
  }

  private constructor(reader: SegmentReader, tenant: string, now: number) {
    this.#reader = reader;
    this.#tenant = tenant;
    this.#lastAt = now;
  }

  /** The deliveries that were written since the last call, at most about `most`. */
  async read(most: number): Promise<LedgerNews> {
    const known = this.#seen;
    const stored = await this.#reader.segments.findStored(this.#find());
    this.#seen = new Map(stored.map(({ id, version }) => [id, version]));
    if (known === null) return { deliveries: [], skipped: 0 };
    const fresh = stored.filter(({ id, version }) => known.get(id) !== version);
    const deliveries: LedgerDelivery[] = [];
    let skipped = 0;
    for (let at = 0; at < fresh.length; at += AT_ONCE) {
      for (const one of await this.#read(fresh.slice(at, at + AT_ONCE), most - deliveries.length)) {
        deliveries.push(...one.deliveries);
        skipped += one.skipped;
      }
    }
    return { deliveries: deliveries.sort((one, other) => one.at - other.at), skipped };
  }

  #find(): Find {
    return {
      tenant: this.#tenant,
      where: { to_at: { gte: this.#lastAt - OVERLAP_MS } },
      sort: [
        ['to_at', 'desc'],
        ['bytes', 'desc'],
      ],
      limit: MOST_SEGMENTS,
    };
  }

  async #read(some: readonly Stored[], most: number): Promise<LedgerNews[]> {
    const ids = some.map(({ id }) => id);
    const segments = await this.#reader.segments.find({
      tenant: this.#tenant,
      where: { id: { in: ids } },
      limit: AT_ONCE,
    });
    const news: LedgerNews[] = [];
    let left = most;
    for (const { id, node, lines, to_at } of segments) {
      this.#lastAt = Math.max(this.#lastAt, to_at);
      const text = await unpackLines(lines);
      if (left <= 0) {
        news.push({ deliveries: [], skipped: text.split('\n').length });
        continue;
      }
      const wanted = { part: null, fits: () => true };
      const deliveries = await this.#reader.unpack(placeOfSegment({ id }), { text, node }, wanted);
      left -= deliveries.length;
      news.push({ deliveries, skipped: 0 });
    }
    return news;
  }
}
