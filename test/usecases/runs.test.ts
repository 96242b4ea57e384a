import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EXECUTIONS, type ExecutionDocument } from '../../actors/execution/view.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Viewer } from '../../runtime/identity.ts';
import { createRunsApi, type RunsApi } from '../../usecases/runs/list-runs.ts';
import type { RunFilter } from '../../usecases/runs/run-filter.ts';
import { DOCUMENT_STORES, type OpenedStore } from '../catalog/document-stores.ts';
import { executionDocument, runId, workflowDocument } from './run-documents.ts';

const user = (subject: string): Viewer => ({ tenant: 'acme', kind: 'consumer', subject, roles: [] });

for (const store of DOCUMENT_STORES)
  describe(`the list of all runs on ${store.name}`, { skip: store.skip }, () => {
    let opened: OpenedStore | undefined;
    let executions: Collection<ExecutionDocument>;
    let workflows: Collection<WorkflowExecutionDocument>;
    let api: RunsApi;
    let unserved: ReadonlySet<string> = new Set();

    before(async () => {
      opened = await store.open();
      executions = await opened.documents.collection<ExecutionDocument>(EXECUTIONS);
      workflows = await opened.documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
      const client = { isServed: async (pool: string) => !unserved.has(pool) };
      api = createRunsApi({ executions, workflows, client });
    });
    after(() => opened?.stop());

    /** Fills a tenant of its own, so that tests do not see each other's runs. */
    async function fill(
      tenant: string,
      some: { executions?: readonly ExecutionDocument[]; workflows?: readonly WorkflowExecutionDocument[] },
    ): Promise<void> {
      await executions.putMany((some.executions ?? []).map((one) => ({ ...one, tenant })));
      await workflows.putMany((some.workflows ?? []).map((one) => ({ ...one, tenant })));
    }

    async function walk(viewer: Viewer, filter: RunFilter, limit: number): Promise<string[]> {
      const ids: string[] = [];
      for (let next: string | undefined; ; ) {
        const page = await api.list(viewer, filter, { limit, ...(next === undefined ? {} : { next }) });
        ids.push(...page.runs.map(({ id }) => id));
        if (page.next === undefined) return ids;
        next = page.next;
      }
    }

    test('the last page has no token, a full one neither, whichever conditions an index answers', async () => {
      const tagged = { parent_id: 'p', workflow_execution_id: 'p' };
      await fill('full', { executions: [1, 2, 3].map((n) => executionDocument(n, tagged)) });
      for (const filter of [{}, { kind: 'execution' as const }, { parent: 'p' }]) {
        const { runs, next } = await api.list('full', filter, { limit: 3 });
        assert.deepEqual([runs.length, next], [3, undefined], JSON.stringify(filter));
        const first = await api.list('full', filter, { limit: 2 });
        const rest = await api.list('full', filter, { limit: 1, next: first.next ?? '' });
        assert.deepEqual([rest.runs.length, rest.next], [1, undefined], JSON.stringify(filter));
      }
    });

    test('a list by the beginning of an id keeps to its limit, and its pages hold each once', async () => {
      const id = (n: number) => `abcdef0${n}-0000-4000-8000-000000000000`;
      await fill('ids', {
        executions: [1, 2, 3].map((n) => executionDocument(n, { id: `abcdef01-0000-4000-8000-00000000000${n}` })),
        workflows: [4, 5].map((n) => workflowDocument(n, { id: `abcdef01-0000-4000-8000-00000000000${n}` })),
      });
      const page = await api.list('ids', { text: 'abcdef01' }, { limit: 2 });
      assert.deepEqual(
        page.runs.map(({ id: one }) => one.at(-1)),
        ['5', '4'],
      );
      const ids = await walk('ids', { text: 'abcdef01' }, 2);
      assert.deepEqual(
        ids.map((one) => one.at(-1)),
        ['5', '4', '3', '2', '1'],
      );
      assert.deepEqual(await walk('ids', { text: id(2).slice(0, 8) }, 2), []);
    });

    test('executions and workflow runs are in one list, newest first, and a walk meets each once while it grows', async () => {
      await fill('walk', {
        executions: [1, 3, 4, 8].map((n) => executionDocument(n)),
        workflows: [2, 5, 6, 7].map((n) => workflowDocument(n)),
      });
      const first = await api.list('walk', {}, { limit: 3 });
      assert.deepEqual(
        first.runs.map(({ id, kind }) => [id, kind]),
        [
          [runId(8), 'execution'],
          [runId(7), 'workflow'],
          [runId(6), 'workflow'],
        ],
      );
      await fill('walk', { executions: [executionDocument(9)], workflows: [workflowDocument(10)] });
      const second = await api.list('walk', {}, { limit: 3, next: first.next ?? '' });
      assert.deepEqual(
        second.runs.map(({ id }) => id),
        [5, 4, 3].map(runId),
      );
      assert.deepEqual(await walk('walk', {}, 2), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map(runId));
    });

    test('runs of the same moment are in the order of their ids, over both kinds', async () => {
      const { started_at } = executionDocument(1);
      await fill('same', {
        executions: [1, 4].map((n) => executionDocument(n, { started_at })),
        workflows: [2, 3].map((n) => workflowDocument(n, { started_at })),
      });
      assert.deepEqual(await walk('same', {}, 1), [4, 3, 2, 1].map(runId));
    });

    test('runs are found by their parent and by their trace, each once, on every page', async () => {
      const [above, panel, trace] = [runId(9), runId(50), 'a'.repeat(32)];
      const mine = { parent_kind: 'workflow', parent_id: above, trace_id: trace };
      await fill('trees', {
        executions: [
          executionDocument(1, { ...mine, workflow_execution_id: above }),
          executionDocument(2, { workflow_execution_id: above, trace_id: trace }),
          executionDocument(3, { parent_kind: 'judge-panel', parent_id: panel, trace_id: trace }),
          executionDocument(4),
        ],
        workflows: [workflowDocument(5, mine), workflowDocument(9, { trace_id: trace })],
      });
      for (const limit of [1, 2, 10]) {
        assert.deepEqual(await walk('trees', { parent: above }, limit), [5, 2, 1].map(runId));
        assert.deepEqual(await walk('trees', { traceId: trace }, limit), [9, 5, 3, 2, 1].map(runId));
      }
      assert.deepEqual(await walk('trees', { parent: panel }, 10), [3].map(runId));
      assert.deepEqual(await walk('trees', { parent: above, kind: 'workflow' }, 10), [5].map(runId));
      assert.deepEqual(await walk('trees', { parent: above, traceId: 'b'.repeat(32) }, 10), []);
      assert.deepEqual(await walk('filters', { traceId: trace }, 10), []);
    });

    test('each filter leaves what it names', async () => {
      await fill('filters', {
        executions: [
          executionDocument(1, { labels: { team: 'docs', tier: 'gold' }, node: 'n1', pool: '+gpu+eu' }),
          executionDocument(2, { status: 'failed', reason: 'max_iterations_exceeded', last_error: 'no' }),
          executionDocument(3, { status: 'running', ended_at: null, wait_kind: 'judges', pool: 'default', node: 'n2' }),
          executionDocument(4, { status: 'pending', ended_at: null, waiting_tags: ['gpu'] }),
        ],
        workflows: [
          workflowDocument(5, { status: 'waiting_for_human_input', ended_at: null, wait_kind: 'approval' }),
          workflowDocument(6, { last_state_failed: true, labels: { team: 'docs' } }),
          workflowDocument(7, { status: 'cancelled', reason: 'not needed' }),
          workflowDocument(8, { workflow_name: 'nightly', workflow_version: '3.0.0' }),
        ],
      });
      const cases: readonly (readonly [RunFilter, readonly number[]])[] = [
        [{ kind: 'workflow' }, [8, 7, 6, 5]],
        [{ status: ['running', 'pending'] }, [4, 3]],
        [{ status: ['completed'] }, [8, 6, 1]],
        [{ outcome: 'succeeded' }, [8, 1]],
        [{ outcome: 'failed' }, [6, 2]],
        [{ outcome: 'cancelled' }, [7]],
        [{ name: 'writer' }, [4, 3, 2, 1]],
        [{ name: 'writer', status: ['failed'] }, [2]],
        [{ name: 'writer', status: ['running'] }, [3]],
        [{ version: '3.0.0' }, [8]],
        [{ labels: [['team', 'docs']] }, [6, 1]],
        [
          {
            labels: [
              ['team', 'docs'],
              ['tier', 'gold'],
            ],
          },
          [1],
        ],
        [{ labels: [['constructor', 'x']] }, []],
        [{ from: executionDocument(3).started_at, to: executionDocument(6).started_at }, [5, 4, 3]],
        [{ tags: ['gpu'] }, [4, 1]],
        [{ tags: ['eu', 'gpu'] }, [1]],
        [{ node: 'n2' }, [3]],
        [{ waitReason: ['judges'] }, [3]],
        [{ waitReason: ['approval', 'node'] }, [5, 4]],
        [{ errorCode: 'max_iterations_exceeded' }, [2]],
        [{ text: 'NIGHT' }, [8]],
        [{ text: runId(5).slice(0, 8) }, [5]],
        [{ text: runId(5) }, [5]],
        [{ text: 'nothing like it' }, []],
      ];
      for (const [filter, expected] of cases)
        assert.deepEqual(await walk('filters', filter, 3), expected.map(runId), JSON.stringify(filter));
    });

    test('a run shows how it ended, what it waits for, its parent and its trace', async () => {
      const [trace_id, parent_id] = ['0af7651916cd43dd8448eb211c80319c', runId(77)];
      await fill('fields', {
        executions: [
          executionDocument(1, { status: 'failed', reason: 'timed_out', last_error: 'too slow', trace_id }),
          executionDocument(2, { status: 'running', ended_at: null, pool: '+gpu', wait_kind: 'effect' }),
        ],
        workflows: [workflowDocument(3, { parent_kind: 'stimulus', parent_id })],
      });
      unserved = new Set(['+gpu']);
      const [third, second, first] = (await api.list('fields', {}, { limit: 9 })).runs;
      unserved = new Set();
      assert.deepEqual(third?.parent, { kind: 'stimulus', id: parent_id });
      assert.equal(third?.duration_ms, 60_000);
      assert.deepEqual([second?.wait_reason, second?.tags, second?.outcome], ['node', ['gpu'], null]);
      assert.deepEqual(
        [first?.outcome, first?.error_code, first?.reason, first?.trace_id],
        ['failed', 'timed_out', 'too slow', trace_id],
      );
    });

    test('a viewer finds neither another tenant’s runs nor those of another owner, whatever it filters by', async () => {
      await fill('acme', {
        executions: [executionDocument(1), executionDocument(2, { owner: 'ann' })],
        workflows: [workflowDocument(3, { owner: 'bob' }), workflowDocument(4, { removed: true })],
      });
      assert.deepEqual(await walk(user('ann'), {}, 9), [2, 1].map(runId));
      assert.deepEqual(await walk(user('bob'), {}, 9), [3, 1].map(runId));
      assert.deepEqual(await walk(user('ann'), { text: runId(3) }, 9), []);
      assert.deepEqual(await walk('acme', {}, 9), [3, 2, 1].map(runId));
      assert.deepEqual(await walk('elsewhere', { text: runId(1) }, 9), []);
    });

    test('a token of other conditions, of another viewer or of no list is refused by the name `next`', async () => {
      await fill('tokens', { executions: [1, 2].map((n) => executionDocument(n)) });
      const { next = '' } = await api.list('tokens', {}, { limit: 1 });
      for (const [viewer, filter, token] of [
        ['tokens', { kind: 'execution' }, next],
        ['elsewhere', {}, next],
        ['tokens', {}, 'bm9uZQ'],
      ] as const)
        await assert.rejects(
          api.list(viewer, filter, { limit: 1, next: token }),
          (thrown) => thrown instanceof SvcError && thrown.code === 'invalid_argument' && thrown.field === 'next',
        );
    });
  });

describe('a condition that few runs meet', () => {
  test('costs one call no more than 1,000 documents, and the walk still finds the run', async () => {
    await using opened = await openLarge(4_500);
    const page = await opened.api.list('acme', { labels: [['rare', 'yes']] }, { limit: 10 });
    assert.deepEqual(page.runs, []);
    assert.ok(opened.found() <= 1_200, `${opened.found()} documents were read`);
    let { next } = page;
    const ids: string[] = [];
    while (next !== undefined) {
      const more = await opened.api.list('acme', { labels: [['rare', 'yes']] }, { limit: 10, next });
      ids.push(...more.runs.map(({ id }) => id));
      next = more.next;
    }
    assert.deepEqual(ids, [runId(0)]);
  });
});

/** Executions of which only the oldest has the label `rare`, and a count of the documents that were read. */
async function openLarge(count: number) {
  const [store] = DOCUMENT_STORES;
  if (store === undefined) throw new Error('there is no store');
  const opened = await store.open();
  const executions = await opened.documents.collection<ExecutionDocument>(EXECUTIONS);
  const workflows = await opened.documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
  const rare = { labels: { rare: 'yes' } };
  await executions.putMany(Array.from({ length: count }, (_, n) => executionDocument(n, n === 0 ? rare : {})));
  let found = 0;
  const counting: Collection<ExecutionDocument> = Object.create(executions, {
    find: {
      value: async (asked: Parameters<typeof executions.find>[0]) => {
        const documents = await executions.find(asked);
        found += documents.length;
        return documents;
      },
    },
  });
  const api = createRunsApi({ executions: counting, workflows, client: { isServed: async () => true } });
  return { api, found: () => found, [Symbol.asyncDispose]: () => opened.stop() };
}
