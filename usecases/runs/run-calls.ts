import { type Address, tenantOf } from '../../runtime/address.ts';
import type { ActorClient, ActorEvent } from '../../runtime/client.ts';
import type { ChangeLog } from '../../runtime/documents/change-log.ts';
import type { Collection, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Viewer } from '../../runtime/identity.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';

/** What exists under an id: `removed` means that something existed and was deleted. */
export type Presence = 'there' | 'removed' | 'unknown';

/**
 * The calls that executions of agents and runs of workflows share. All read committed state, and all but `presence` throw
 * `not_found` for a run that does not exist or that the viewer may not see.
 */
export interface RunApi<Status extends { readonly status: string }, LogEvent> {
  /** The status with what the run waits for. */
  status(viewer: Viewer, executionId: string): Promise<Status>;
  /** Whether anything exists under this id of a tenant, visible to the caller or not. */
  presence(tenant: string, executionId: string): Promise<Presence>;
  /** Recorded events after sequence `after`. Their payloads are the wire objects. */
  events(viewer: Viewer, executionId: string, after: number, limit: number): Promise<ActorEvent[]>;
  follow(
    viewer: Viewer,
    executionId: string,
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncIterable<ActorEvent | null>;
  /** The log, oldest entry first; `limit` is capped at 200. */
  logs(
    viewer: Viewer,
    executionId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly status: Status['status']; readonly events: LogEvent[]; readonly total: number }>;
  /** Removes an ended run. Throws `failed_precondition` while it runs. */
  remove(viewer: Viewer, executionId: string): Promise<void>;
}

/** Parts that the calls on executions of agents and on runs of workflows share. */
export interface RunCallParts<Document extends StoredDocument & { readonly removed: boolean }> {
  readonly client: Pick<ActorClient, 'events' | 'follow'>;
  /** Their list. */
  readonly executions: Pick<Collection<Document>, 'get' | 'put'>;
  /** The kernel's removal of ended actors. Absent: removed runs stay in the store and are only hidden. */
  readonly removals?: {
    ask(address: Address, since: number): Promise<void>;
    finish(address: Address): Promise<boolean>;
  };
  /** Absent: changes written into the list itself do not reach the feed. */
  readonly changes?: Pick<ChangeLog, 'append'>;
}

/**
 * `find` throws `not_found` for a run that the viewer may not see. `whileRunning` is the address of a run that the viewer may
 * see as long as it runs; null when that is not known.
 */
export const runReads = <Document extends StoredDocument & { readonly removed: boolean }>(
  { client, executions }: RunCallParts<Document>,
  find: (viewer: Viewer, id: string) => Promise<{ readonly address: Address }>,
  whileRunning: (viewer: Viewer, id: string) => Address | null = () => null,
) => ({
  async presence(tenant: string, id: string): Promise<Presence> {
    if ((await foundOrNull(find(tenant, id))) !== null) return 'there';
    return (await executions.get(tenant, id))?.removed === true ? 'removed' : 'unknown';
  },
  async events(viewer: Viewer, id: string, after: number, limit: number): Promise<ActorEvent[]> {
    const { address } = await find(viewer, id);
    return client.events(address, after, limit);
  },
  follow: (
    viewer: Viewer,
    id: string,
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncIterable<ActorEvent | null> =>
    new FollowFound(async () => {
      const known = whileRunning(viewer, id);
      if (known === null) return client.follow((await find(viewer, id)).address, after, options);
      const unlessRunning = async (): Promise<void> => void (await find(viewer, id));
      return client.follow(known, after, { ...options, unlessRunning });
    }),
});

/**
 * Finds a run with the first call and then follows it. It is not a generator, which would take three more steps for each event.
 */
class FollowFound implements AsyncIterableIterator<ActorEvent | null> {
  readonly #begin: () => Promise<AsyncIterable<ActorEvent | null>>;
  #events: AsyncIterator<ActorEvent | null> | null = null;
  #isOver = false;

  constructor(begin: () => Promise<AsyncIterable<ActorEvent | null>>) {
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<ActorEvent | null, undefined>> {
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true });
    return this.#events === null ? this.#first() : this.#events.next();
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#isOver = true;
    await this.#events?.return?.();
    return { value: undefined, done: true };
  }

  async #first(): Promise<IteratorResult<ActorEvent | null, undefined>> {
    try {
      const events = await this.#begin();
      if (this.#isOver) return { value: undefined, done: true };
      this.#events = events[Symbol.asyncIterator]();
    } catch (thrown) {
      this.#isOver = true;
      throw thrown;
    }
    return this.#events.next();
  }
}

/** Removes an ended run; `tombstone` hides it from readers. */
export async function removeRun<Document extends StoredDocument & { readonly removed: boolean }>(
  { executions, removals, changes }: RunCallParts<Document>,
  collection: string,
  {
    address,
    startedAt,
    owner,
    tombstone,
  }: {
    readonly address: Address;
    readonly startedAt: string;
    readonly owner: string | undefined;
    readonly tombstone: Document;
  },
): Promise<void> {
  // First the durable request, whether or not the run is archived already; then the document that hides the run from readers.
  await removals?.ask(address, Date.parse(startedAt));
  await executions.put(tombstone);
  await changes?.append(tenantOf(address), [{ collection, id: tombstone.id, owner }]);
  await removals?.finish(address);
}

const HAS_ENDED: Readonly<Record<string, string>> = { failed: 'has failed', cancelled: 'was cancelled' };

/** The refusal of a call that needs an unfinished run. */
export const endedAlready = (what: 'execution' | 'workflow execution', status: string): SvcError =>
  new SvcError('failed_precondition', `the ${what} ${HAS_ENDED[status] ?? 'has completed'} already`);
