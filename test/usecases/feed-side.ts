import { APPROVALS, type ApprovalDocument } from '../../actors/approval/view.ts';
import { EXECUTIONS, type ExecutionDocument } from '../../actors/execution/view.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import { systemClock } from '../../runtime/clock.ts';
import { ChangeLog } from '../../runtime/documents/change-log.ts';
import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { createFeedApi, type FeedApi, type FeedAsked, type FeedRecord } from '../../usecases/feed/feed.ts';
import { parseFeedId } from '../../usecases/feed/feed-id.ts';
import type { MemberStatus } from '../../usecases/ports/cluster.ts';

export const HEARTBEAT_MS = 20;

/** One node: its log of changes and its feed, over documents that it shares with other nodes. */
export interface FeedSide {
  readonly log: ChangeLog;
  readonly feed: FeedApi;
  /** How often the log was read. */
  reads(): number;
  /** Members that the feed shows. */
  members: readonly MemberStatus[];
  readonly lists: Awaited<ReturnType<typeof listsOf>>;
}

const listsOf = async (documents: Documents) => ({
  executions: await documents.collection<ExecutionDocument>(EXECUTIONS),
  workflows: await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
  approvals: await documents.collection<ApprovalDocument>(APPROVALS),
});

const unknown = (): never => {
  throw new SvcError('not_found', 'unknown');
};

/** `events`: those of the only run that can be followed, by its id. */
export async function openSide(
  documents: Documents,
  {
    kept,
    events = new Map<string, readonly ActorEvent[]>(),
  }: { kept?: number; events?: Map<string, readonly ActorEvent[]> } = {},
): Promise<FeedSide> {
  const warn = (message: string): void => console.error(message);
  const log = await ChangeLog.open({ documents, clock: systemClock, random: systemRandom, warn, kept });
  const lists = await listsOf(documents);
  let reads = 0;
  const counted = {
    end: (tenant: string) => log.end(tenant),
    onAppend: (tenant: string, wake: () => void) => log.onAppend(tenant, wake),
    read: (...args: Parameters<ChangeLog['read']>) => {
      reads += 1;
      return log.read(...args);
    },
  };
  const side: Omit<FeedSide, 'feed'> = { log, lists, reads: () => reads, members: [] };
  const feed = createFeedApi({
    log: counted,
    clock: systemClock,
    client: { isServed: async () => true },
    executions: {
      hasEnded: async (_viewer, id) => (events.has(id) ? true : unknown()),
      async *follow(_viewer, id, after) {
        yield* (events.get(id) ?? []).filter(({ seq }) => seq > after);
      },
    },
    workflows: { status: async () => unknown(), follow: () => unknown() },
    cluster: { status: async () => ({ members: side.members, pools: [] }) },
    lists,
    warn,
  });
  return Object.assign(side, { feed });
}

export const operator = (tenant: string): Identity => ({
  kind: 'operator',
  subject: 'ann',
  tenant,
  roles: ['svc:admin'],
  tier: 'enterprise',
});

export const consumer = (tenant: string, subject: string): Identity => ({
  kind: 'consumer',
  subject,
  tenant,
  roles: [],
  tier: 'free',
});

/** A reader of a feed over its connections: it keeps what it got, and resumes where it was. */
export class FeedReader {
  readonly records: FeedRecord[] = [];
  #stop = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  readonly #viewer: Identity;
  readonly #asked: Partial<FeedAsked>;

  constructor(viewer: Identity, asked: Partial<FeedAsked> = {}) {
    this.#viewer = viewer;
    this.#asked = asked;
  }

  get lastId(): string | undefined {
    return this.records.at(-1)?.id;
  }

  async connect({ feed }: FeedSide): Promise<void> {
    this.#stop = new AbortController();
    const after = this.lastId === undefined ? undefined : parseFeedId(this.lastId);
    const asked: FeedAsked = { topics: ['run', 'approval'], filter: {}, ...this.#asked, after };
    const records = await feed.open(this.#viewer, asked, { signal: this.#stop.signal, heartbeatMs: HEARTBEAT_MS });
    this.#ended = this.#read(records);
  }

  async cut(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #read(records: AsyncIterable<FeedRecord | null>): Promise<void> {
    for await (const record of records) if (record !== null) this.records.push(record);
  }
}
