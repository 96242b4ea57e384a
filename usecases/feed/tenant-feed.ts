import type { Clock } from '../../runtime/clock.ts';
import type { ChangeLog, ChangePosition, NumberedChange } from '../../runtime/documents/change-log.ts';
import { toSvcError } from '../../runtime/errors.ts';
import { backoffMs, sleep } from '../../runtime/kit/waits.ts';
import { orAborted } from './merged.ts';

/** A change with the present content of its document. Null: the document was removed. */
export interface Shown<T> {
  readonly position: ChangePosition;
  readonly collection: string;
  readonly id: string;
  readonly owner: string | undefined;
  readonly content: T | null;
}

interface TenantFeedParts<T> {
  readonly log: Pick<ChangeLog, 'read' | 'end' | 'onAppend'>;
  readonly clock: Clock;
  readonly tenant: string;
  /** Reads the documents of changes. */
  readonly show: (tenant: string, changes: readonly NumberedChange[]) => Promise<readonly Shown<T>[]>;
  readonly warn: (message: string, error: unknown) => void;
}

/** Pause between two reads for other nodes' changes, ms. This node's own changes start a read at once. */
const LOOK_EVERY_MS = 250;
const MOST_PAUSE_MS = 5_000;
/** Changes in memory, for all readers of the tenant on this node. */
const MOST_KEPT = 2_000;
/** Changes that a reader takes at a time. */
const MOST_TAKEN = 100;

/**
 * The changes of one tenant, read once for all readers on this node. It keeps the newest ones; a reader further behind reads
 * the log itself. Readers ask for the changes behind their position, so a slow one costs no memory.
 */
export class TenantFeed<T> {
  readonly #parts: TenantFeedParts<T>;
  readonly #stop = new AbortController();
  #readers = 0;
  /** The newest changes, without gaps, oldest first. */
  #kept: Shown<T>[] = [];
  #end: ChangePosition | null = null;
  /** Grows when the log returned to an older state: earlier positions do not exist any more. */
  #era = 0;
  #version = 0;
  #changed = Promise.withResolvers<void>();
  #look = Promise.withResolvers<void>();

  constructor(parts: TenantFeedParts<T>) {
    this.#parts = parts;
  }

  get era(): number {
    return this.#era;
  }

  /** Whether it has no readers. */
  get isIdle(): boolean {
    return this.#readers === 0;
  }

  enter(): void {
    this.#readers += 1;
    if (this.#readers === 1) this.#follow().catch((thrown: unknown) => this.#parts.warn('the feed stopped', thrown));
  }

  /** After the last reader left, this feed ends and is not used again. */
  leave(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#stop.abort();
  }

  /** The next changes behind a position from memory; null when memory does not have all of them. */
  behind({ n }: ChangePosition): readonly Shown<T>[] | null {
    if (this.#end !== null && n >= this.#end.n) return [];
    const oldest = this.#kept[0]?.position.n;
    if (oldest === undefined || n + 1 < oldest) return null;
    return this.#kept.slice(n + 1 - oldest, n + 1 - oldest + MOST_TAKEN);
  }

  /** The next changes behind a position from the log. */
  async read(position: ChangePosition): Promise<readonly Shown<T>[] | 'gone'> {
    const { log, tenant, show } = this.#parts;
    const page = await log.read(tenant, position);
    return page === 'gone' ? page : show(tenant, page.slice(0, MOST_TAKEN));
  }

  /** Rises with each change that was read. */
  get version(): number {
    return this.#version;
  }

  /** Resolves when there is a newer version than this one, or at the abort. */
  async newerThan(version: number, signal: AbortSignal): Promise<void> {
    if (this.#version === version) await orAborted(this.#changed.promise, signal);
  }

  async #follow(): Promise<void> {
    const { log, clock, tenant, warn } = this.#parts;
    const { signal } = this.#stop;
    const unsubscribe = log.onAppend(tenant, () => this.#look.resolve());
    let failures = 0;
    try {
      while (!signal.aborted) {
        this.#look = Promise.withResolvers<void>();
        try {
          if (await this.#take()) this.#wake();
          failures = 0;
        } catch (thrown) {
          failures += 1;
          if (failures === 1)
            warn(`the feed of ${tenant} could not read its changes; it tries again`, toSvcError(thrown));
        }
        await Promise.race([
          sleep(clock, backoffMs(failures, LOOK_EVERY_MS, MOST_PAUSE_MS), signal),
          ...(failures === 0 ? [this.#look.promise] : []),
        ]);
      }
    } finally {
      unsubscribe();
      this.#wake();
    }
  }

  /** Reads new changes. Returns whether there were any. */
  async #take(): Promise<boolean> {
    const { log, tenant } = this.#parts;
    if (this.#end === null) {
      this.#end = await log.end(tenant);
      return true;
    }
    const page = await this.read(this.#end);
    if (page === 'gone') {
      this.#era += 1;
      this.#kept = [];
      this.#end = null;
      return this.#take();
    }
    const last = page.at(-1);
    if (last === undefined) return false;
    this.#end = last.position;
    this.#kept.push(...page);
    if (this.#kept.length > MOST_KEPT) this.#kept.splice(0, this.#kept.length - MOST_KEPT);
    // A full page may not be the last one.
    if (page.length === MOST_TAKEN) this.#look.resolve();
    return true;
  }

  #wake(): void {
    this.#version += 1;
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }
}
