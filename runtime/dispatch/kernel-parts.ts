import type { ActorStore } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import type { Registry } from '../define-actor.ts';
import type { Locator } from '../locator.ts';
import type { Archive } from '../projection/archive.ts';
import type { LostActors } from '../projection/lost-actors.ts';
import type { Views } from '../projection/views.ts';
import type { SpanSink } from '../tracing/spans.ts';
import type { ActorCache } from '../turns/actor-cache.ts';
import type { RetrySettings } from '../turns/actor-draft.ts';
import type { Payloads } from '../turns/payload.ts';
import type { LocalStarts } from './local-starts.ts';
import type { StateBlobGc } from './state-blob-gc.ts';

/** The parts of the process that serving a partition needs. */
export interface KernelParts {
  readonly store: ActorStore;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  readonly archive: Archive;
  readonly views: Views;
  /** Checks partitions whose store went back to an older state. */
  readonly lostActors: Pick<LostActors, 'lookIn'>;
  readonly cache: ActorCache;
  /** Deletes the states in Blobs that a commit has replaced. */
  readonly replaced: Pick<StateBlobGc, 'add'>;
  readonly clock: Clock;
  readonly starts: Pick<LocalStarts, 'of' | 'ahead'>;
  readonly retry: RetrySettings;
  /** Most entries in a batch. */
  readonly batchLimit: number;
  /** Turns that take this long together run while the commit before them is written, milliseconds. */
  readonly overlapMs: number;
  /** Whether each turn is recorded in the journal (R3). */
  readonly ledger: boolean;
  /**
   * Whether results of this process are handled beside the mailbox. Nodes of formats 1 and 2 do not find those in the
   * journal.
   */
  readonly takesResults: () => boolean;
  /**
   * Counters that the parts increase: commits that the store refused, and results whose turns could not be committed
   * with them.
   */
  readonly counts: { fenced: number };
  /** Takes the committed turns for export. Null: spans are not exported. */
  readonly sink: SpanSink | null;
  readonly warn: (message: string, error: unknown) => void;
}
