import type { ActorStore } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import type { Registry } from '../define-actor.ts';
import type { Locator } from '../locator.ts';
import type { Archive } from '../projection/archive.ts';
import type { LostActors } from '../projection/lost-actors.ts';
import type { Views } from '../projection/views.ts';
import type { ActorCache } from '../turns/actor-cache.ts';
import type { RetrySettings } from '../turns/actor-draft.ts';
import type { Payloads } from '../turns/payload.ts';
import type { LocalStarts } from './local-starts.ts';
import type { StateBlobGc } from './state-blob-gc.ts';

/** What serving a partition needs of the process. */
export interface KernelParts {
  readonly store: ActorStore;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  readonly archive: Archive;
  readonly views: Views;
  /** Told of partitions that came back as they were before. */
  readonly lostActors: Pick<LostActors, 'lookIn'>;
  readonly cache: ActorCache;
  /** Takes the states stored aside that a commit has replaced. */
  readonly replaced: Pick<StateBlobGc, 'add'>;
  readonly clock: Clock;
  readonly starts: Pick<LocalStarts, 'of' | 'ahead'>;
  readonly retry: RetrySettings;
  /** Most entries a batch takes. */
  readonly batchLimit: number;
  /** Whether each turn is recorded in the journal (R3). */
  readonly ledger: boolean;
  /** Whether results of this process are handled beside the mailbox: nodes of formats 1 and 2 do not find them in the journal. */
  readonly takesResults: () => boolean;
  /** Counted up here: commits that the store refused, results whose turns could not be committed with them. */
  readonly counts: { fenced: number; resultsFailed: number };
  readonly warn: (message: string, error: unknown) => void;
}
