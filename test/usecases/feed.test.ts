import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
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
import { runOf } from '../../usecases/runs/run.ts';
import { DOCUMENT_STORES, type OpenedStore } from '../catalog/document-stores.ts';
import { waitUntil } from '../support/wait-until.ts';
import { executionDocument, runId } from './run-documents.ts';

const HEARTBEAT_MS = 20;

/** One node: its log of changes and its feed, over documents that it shares with other nodes. */
interface FeedSide {
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
async function openSide(
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

const operator = (tenant: string): Identity => ({
  kind: 'operator',
  subject: 'ann',
  tenant,
  roles: ['svc:admin'],
  tier: 'enterprise',
});

const consumer = (tenant: string, subject: string): Identity => ({
  kind: 'consumer',
  subject,
  tenant,
  roles: [],
  tier: 'free',
});

/** A reader of a feed over its connections: it keeps what it got, and resumes where it was. */
class FeedReader {
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

const member = (node_id: string): MemberStatus => ({
  node_id,
  incarnation: 'i',
  info: null,
  partitions: { default: 8 },
});

/** Writes the document of a run and then its change, as a projector does. */
async function change(side: FeedSide, tenant: string, n: number, given: Parameters<typeof executionDocument>[1] = {}) {
  const document = executionDocument(n, { tenant, ...given });
  await side.lists.executions.put(document);
  await side.log.append(tenant, [{ collection: EXECUTIONS.name, id: document.id, owner: document.owner }]);
}

for (const store of DOCUMENT_STORES)
  describe(`the feed on ${store.name}`, { skip: store.skip }, () => {
    let opened: OpenedStore | undefined;
    let tenants = 0;
    const newTenant = (): string => {
      tenants += 1;
      return `feed-${tenants}`;
    };
    const documents = (): Documents => opened?.documents ?? assert.fail('the store is not open');
    before(async () => {
      opened = await store.open();
    });
    after(() => opened?.stop());

    test('a reader that is cut anywhere and resumes on any node ends with every last state, its records numbered without gaps', async () => {
      const sides = [await openSide(documents()), await openSide(documents())];
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ write: fc.nat(4), by: fc.nat(1) }) },
        { weight: 1, arbitrary: fc.record({ resumeAt: fc.nat(1), meanwhile: fc.nat(3) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
          const tenant = newTenant();
          const side = (at: number): FeedSide => sides[at] ?? assert.fail();
          const reader = new FeedReader(operator(tenant));
          await reader.connect(side(0));
          await waitUntil('the feed is open', () => reader.records.length > 0);
          let version = 0;
          const written = new Map<number, number>();
          const write = async (n: number, by: number): Promise<void> => {
            version += 1;
            written.set(n, version);
            await change(side(by), tenant, n, { version, iteration_count: version, node: `n${version}` });
          };
          for (const one of steps) {
            if ('write' in one) await write(one.write, one.by);
            else {
              await reader.cut();
              for (let n = 0; n < one.meanwhile; n += 1) await write(n, one.resumeAt);
              await reader.connect(side(one.resumeAt));
            }
          }
          const seen = (n: number) =>
            reader.records.findLast(({ content }) => 'id' in content && content.id === runId(n));
          await waitUntil('the last state of each run is seen', () =>
            [...written].every(([n, last]) => {
              const content = seen(n)?.content;
              return content !== undefined && 'node' in content && content.node === `n${last}`;
            }),
          );
          await reader.cut();
          const counts = reader.records.map(({ id }) => parseFeedId(id).count);
          assert.deepEqual(
            counts,
            counts.map((_, index) => index + 1),
          );
          for (const [n] of written) {
            const document = await side(0).lists.executions.get(tenant, runId(n));
            assert.deepEqual(seen(n)?.content, runOf({ kind: 'execution', document: document ?? assert.fail() }));
          }
        }),
        { numRuns: store.name === 'SQLite' ? 12 : 2 },
      );
    });

    test('a reader too far behind gets a reset, and then what comes later', async () => {
      const [tenant, side] = [newTenant(), await openSide(documents(), { kept: 20 })];
      const reader = new FeedReader(operator(tenant));
      await reader.connect(side);
      await change(side, tenant, 1);
      await waitUntil('the run is seen', () => reader.records.length === 2);
      await reader.cut();
      for (let n = 2; n < 60; n += 1) await change(side, tenant, n, { version: n });
      await reader.connect(side);
      await waitUntil('the reset', () => reader.records.at(-1)?.name === 'reset');
      await change(side, tenant, 99);
      await waitUntil('the later run', () => reader.records.at(-1)?.name === 'run');
      await reader.cut();
      assert.deepEqual(
        reader.records.map(({ name }) => name),
        ['open', 'run', 'reset', 'run'],
      );
    });
  });

describe('what a reader of the feed gets', () => {
  let opened: OpenedStore | undefined;
  let side: FeedSide;
  before(async () => {
    const [store] = DOCUMENT_STORES;
    opened = await store?.open();
    side = await openSide(opened?.documents ?? assert.fail());
  });
  after(() => opened?.stop());

  /** Record names and ids that a reader got, up to the run 99 which all see. */
  async function got(reader: FeedReader, tenant: string, write: () => Promise<void>): Promise<string[]> {
    await reader.connect(side);
    await waitUntil('the feed is open', () => reader.records.length > 0);
    await write();
    await change(side, tenant, 99, { agent_name: 'last' });
    const isLast = (content: object): boolean => 'id' in content && content.id === runId(99);
    await waitUntil('the last run', () => reader.records.some(({ content }) => isLast(content)));
    await reader.cut();
    return reader.records
      .filter(({ content }) => !isLast(content))
      .map(({ name, content }) => `${name} ${'id' in content ? Number(String(content.id).slice(0, 8)) : ''}`.trim());
  }

  test('a reader of the feed gets neither another owner’s runs nor their removals, nor anything of another tenant', async () => {
    const write = async (): Promise<void> => {
      await change(side, 'walls', 1, { owner: 'ann' });
      await change(side, 'walls', 2, { owner: 'bob' });
      await side.lists.executions.put(executionDocument(2, { tenant: 'walls', version: 9, removed: true }));
      await side.log.append('walls', [{ collection: EXECUTIONS.name, id: runId(2), owner: 'bob' }]);
      const { n } = await side.log.end('walls');
      await change(side, 'elsewhere', 3);
      // The numbers in ids do not show how much changes in another tenant.
      assert.equal((await side.log.end('walls')).n, n);
    };
    assert.deepEqual(await got(new FeedReader(consumer('walls', 'ann')), 'walls', write), ['open', 'run 1']);
    assert.deepEqual(await got(new FeedReader(consumer('walls', 'bob')), 'walls', write), [
      'open',
      'run_removed 2',
      'run_removed 2',
    ]);
  });

  test('a run that meets its conditions no longer as one that left, and never one that could not', async () => {
    const reader = new FeedReader(operator('left'), { filter: { name: 'writer', status: ['running'] } });
    await reader.connect(side);
    await waitUntil('the feed is open', () => reader.records.length > 0);
    await change(side, 'left', 1, { status: 'running', ended_at: null });
    await waitUntil('the run', () => reader.records.length === 2);
    await change(side, 'left', 2, { agent_name: 'other', status: 'running', ended_at: null });
    await change(side, 'left', 1, { version: 2 });
    await waitUntil('it left', () => reader.records.length === 3);
    await reader.cut();
    assert.deepEqual(
      reader.records.map(({ name, content }) => [name, 'id' in content ? content.id : null]),
      [
        ['open', null],
        ['run', runId(1)],
        ['run_left', runId(1)],
      ],
    );
  });

  test('the nodes at once and each that changes or is gone, unless it may not see the fleet', async () => {
    side.members = [member('n1'), member('n2')];
    const reader = new FeedReader(operator('nodes'), { topics: ['node'] });
    await reader.connect(side);
    await waitUntil('both nodes', () => reader.records.length === 3);
    side.members = [member('n1')];
    await waitUntil('a node is gone', () => reader.records.length === 4);
    await reader.cut();
    const last = reader.records.at(-1);
    assert.deepEqual(
      [last?.name, last !== undefined && 'status' in last.content && last.content.status],
      ['node', 'gone'],
    );
    await assert.rejects(
      new FeedReader(consumer('nodes', 'ann'), { topics: ['node'] }).connect(side),
      (thrown) => thrown instanceof SvcError && thrown.code === 'forbidden',
    );
  });

  test('the events of the run that it follows, each once over all connections', async () => {
    const event = (seq: number) => ({ seq, at: 0, name: 'iteration_output', payload: { n: seq } });
    const events = new Map([[runId(7), [event(1), event(2)]]]);
    const following = await openSide(opened?.documents ?? assert.fail(), { events });
    const reader = new FeedReader(operator('follow'), { followed: runId(7) });
    await reader.connect(following);
    await waitUntil('two events', () => reader.records.length === 3);
    await reader.cut();
    events.set(runId(7), [event(1), event(2), event(3)]);
    await reader.connect(following);
    await waitUntil('the third', () => reader.records.length === 4);
    await reader.cut();
    assert.deepEqual(
      reader.records.flatMap(({ content }) => ('sequence' in content ? [content.sequence] : [])),
      [1, 2, 3],
    );
    await assert.rejects(
      new FeedReader(operator('follow'), { followed: runId(8) }).connect(following),
      (thrown) => thrown instanceof SvcError && thrown.code === 'not_found',
    );
  });

  test('a reset while it is connected, when documents are restored that know less than it has read', async () => {
    const documents = opened?.documents ?? assert.fail();
    const reader = new FeedReader(operator('restored'));
    await reader.connect(side);
    for (let n = 1; n <= 3; n += 1) await change(side, 'restored', n);
    await waitUntil('three runs', () => reader.records.length === 4);
    const changes = await documents.collection({ name: 'changes', unique: [], indexes: [] });
    await changes.deleteMany({ tenant: 'restored' });
    const other = await openSide(documents);
    await change(other, 'restored', 4);
    await waitUntil('the reset', () => reader.records.at(-1)?.name === 'reset');
    await change(other, 'restored', 5);
    await waitUntil('the later run', () => reader.records.at(-1)?.name === 'run');
    await reader.cut();
  });

  test('200 readers of a tenant on one node cost hardly more reads of the log than one', async () => {
    const alone = await openSide(opened?.documents ?? assert.fail());
    const readers = Array.from({ length: 200 }, () => new FeedReader(operator('crowd')));
    await Promise.all(readers.map((reader) => reader.connect(alone)));
    await waitUntil('all are open', () => readers.every(({ records }) => records.length === 1));
    const before = alone.reads();
    for (let n = 1; n <= 20; n += 1) await change(alone, 'crowd', n);
    await waitUntil('all have all', () => readers.every(({ records }) => records.length === 21));
    const looks = alone.reads() - before;
    await Promise.all(readers.map((reader) => reader.cut()));
    assert.ok(looks <= 200 + 60, `${looks} reads of the log`);
  });
});
