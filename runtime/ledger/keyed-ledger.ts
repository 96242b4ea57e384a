import { type Address, tenantOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Documents } from '../documents.ts';
import type { Payloads } from '../turns/payload.ts';
import type { KeptFrom } from './kept-from.ts';
import { hashOf, type KeyKind } from './key-hash.ts';
import type { SegmentRef } from './key-pages.ts';
import type { KeyRuns } from './key-runs.ts';
import type { LedgerDelivery, LedgerPage, LedgerReader, RecentPage } from './ledger-reader.ts';
import { knowsAll } from './page-token.ts';
import { BY_POSITION, BY_TIME, checkWish, type ReadingOrder, readAll, readPage } from './reading.ts';
import { recentPage } from './recent.ts';
import { SegmentReader, type Wanted } from './segment-reader.ts';

/** Finds deliveries by their keys (decision 0037). */
export class KeyedLedger implements LedgerReader {
  readonly #keys: KeyRuns;
  readonly #reader: SegmentReader;
  readonly #kept: KeptFrom;

  static async open(parts: {
    readonly documents: Documents;
    readonly payloads: Payloads;
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly keys: KeyRuns;
    readonly kept: KeptFrom;
  }): Promise<KeyedLedger> {
    return new KeyedLedger(parts.keys, await SegmentReader.open(parts), parts.kept);
  }

  constructor(keys: KeyRuns, reader: SegmentReader, kept: KeptFrom) {
    this.#keys = keys;
    this.#reader = reader;
    this.#kept = kept;
  }

  message(tenant: string, id: string): Promise<readonly LedgerDelivery[]> {
    return this.#all('message', tenant, id, ({ message }) => message.id === id);
  }

  causedBy(tenant: string, id: string): Promise<readonly LedgerDelivery[]> {
    return this.#all('cause', tenant, id, ({ message }) => message.cause === id);
  }

  effect(tenant: string, effectId: string): Promise<readonly LedgerDelivery[]> {
    return this.#all('effect', tenant, effectId, ({ effect }) => effect === effectId);
  }

  trace(tenant: string, trace: string, page: Parameters<LedgerReader['trace']>[2]): Promise<LedgerPage> {
    const wanted = wantedOf(trace, ({ message }) => message.trace === trace);
    return this.#page('trace', tenant, trace, { ...page, wanted, order: BY_TIME });
  }

  actor(address: Address, page: Parameters<LedgerReader['actor']>[1]): Promise<LedgerPage> {
    const wanted = wantedOf(address, ({ message }) => message.to === address);
    return this.#page('actor', tenantOf(address), address, { ...page, wanted, order: BY_POSITION });
  }

  recent(tenant: string, page: Parameters<LedgerReader['recent']>[1]): Promise<RecentPage> {
    return recentPage(this.#reader, tenant, page);
  }

  keptFrom(tenant: string): Promise<number | null> {
    return this.#kept.of(tenant);
  }

  async #all(kind: KeyKind, tenant: string, id: string, fits: Wanted['fits']): Promise<readonly LedgerDelivery[]> {
    const segments = await this.#keys.find(tenant, hashOf(kind, tenant, id));
    return readAll(this.#reader, segments, { tenant, wanted: wantedOf(id, fits) });
  }

  async #page(
    kind: KeyKind,
    tenant: string,
    id: string,
    wish: {
      readonly wanted: Wanted;
      readonly order: ReadingOrder;
      readonly limit: number;
      readonly after?: string | undefined;
      readonly newestFirst?: boolean | undefined;
    },
  ): Promise<LedgerPage> {
    checkWish(wish);
    const hash = hashOf(kind, tenant, id);
    let segments: readonly SegmentRef[] = await this.#keys.find(tenant, hash);
    if (!knowsAll(segments, wish.after)) {
      // The page before was read by a node that knew newer runs.
      await this.#keys.refresh();
      segments = await this.#keys.find(tenant, hash);
    }
    return readPage(this.#reader, segments, { ...wish, tenant });
  }
}

/** The deliveries of a key. An id with characters that JSON escapes is searched for in all lines. */
function wantedOf(id: string, fits: Wanted['fits']): Wanted {
  const isPlain = JSON.stringify(id) === `"${id}"` && id !== '';
  return { part: isPlain ? id : null, fits };
}
