import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackgroundFigures } from '../../app/figures.ts';
import type { Log, Partition } from '../../runtime/address.ts';
import { NodeMetrics } from '../../transport/internal/node-metrics.ts';
import { EXECUTIONS, type ExecutionDocument } from '../../usecases/executions.ts';
import { createRunsApi } from '../../usecases/runs/list-runs.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../../usecases/workflow-runs.ts';
import { openSqlite } from '../catalog/document-stores.ts';
import { HandClock } from '../support/hand-clock.ts';
import { waitUntil } from '../support/wait-until.ts';
import { executionDocument, workflowDocument } from '../usecases/run-documents.ts';

test('figures that need a store are looked up in the background; one node counts the unfinished runs of all tenants', async () => {
  const opened = await openSqlite();
  const executions = await opened.documents.collection<ExecutionDocument>(EXECUTIONS);
  const workflows = await opened.documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
  const waits = { status: 'running', ended_at: null, wait_kind: 'effect' } as const;
  await executions.putMany([
    executionDocument(1, waits),
    executionDocument(2, { ...waits, tenant: 'other' }),
    executionDocument(3, { ...waits, pool: '+gpu' }),
    executionDocument(4),
  ]);
  await workflows.put(workflowDocument(5, { status: 'waiting_for_human_input', ended_at: null }));
  const clock = new HandClock();
  let held: readonly Partition[] = ['system:0'];
  const logs: readonly Log[] = ['default:1', 'default:2'];
  let away = false;
  const warnings: string[] = [];
  const figures = new BackgroundFigures({
    metrics: new NodeMetrics(),
    store: {
      async backlog(log) {
        if (away) throw new Error('the store is away');
        return log === 'default:1' ? { cursor: 5, tail: 9, oldestAt: 1_000 } : { cursor: 3, tail: 3, oldestAt: null };
      },
      now: async () => 4_500,
    },
    runtime: { logs: () => logs, held: () => held },
    runs: createRunsApi({ executions, workflows, client: { isServed: async (pool) => pool !== '+gpu' } }),
    tenants: async () => [...new Set([...(await executions.tenants()), ...(await workflows.tenants())])],
    clock,
    warn: (message) => warnings.push(message),
  });
  try {
    await clock.pass(10_000);
    await waitUntil('the figures are there', () => figures.last.unfinished !== null);
    assert.deepEqual(figures.last.mailbox, { messages: 4, oldestSeconds: 3.5 });
    assert.deepEqual(
      figures.last.unfinished?.toSorted((a, b) => (a.wait_reason < b.wait_reason ? -1 : 1)),
      [
        { kind: 'workflow', wait_reason: 'approval', count: 1 },
        { kind: 'execution', wait_reason: 'effect', count: 2 },
        { kind: 'execution', wait_reason: 'node', count: 1 },
      ],
    );
    held = [];
    await waitUntil('another node counts them', async () => {
      await clock.pass(10_000);
      return figures.last.unfinished === null;
    });
    away = true;
    await waitUntil('the store is missed', async () => {
      await clock.pass(10_000);
      return warnings.length === 1;
    });
    assert.deepEqual(figures.last.mailbox, { messages: 4, oldestSeconds: 3.5 });
  } finally {
    figures.close();
    await opened.stop();
  }
});
