import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { approvalActor } from '../../../actors/approval/definition.ts';
import { APPROVALS, type ApprovalDocument } from '../../../actors/approval/view.ts';
import { workflowActor } from '../../../actors/workflow/definition.ts';
import type { WorkflowManifest } from '../../../manifests/workflow/schema.ts';
import type { ActorEvent } from '../../../runtime/client.ts';
import { defineEffect, type EffectContext } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { Json } from '../../../runtime/json.ts';
import { type OpenStores, openStores } from '../../../runtime/open-stores.ts';
import { type Runtime, startRuntime } from '../../../runtime/runtime.ts';
import { createApprovalApi } from '../../../usecases/approvals.ts';
import {
  createWorkflowApi,
  WORKFLOW_EXECUTIONS,
  type WorkflowApi,
  type WorkflowExecutionDocument,
} from '../../../usecases/workflow-runs.ts';
import { leftOfRun } from '../../support/left-of-run.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { manifestOf, pure } from './driven-workflow.ts';

const TENANT = 'acme';
const identity: Identity = { kind: 'operator', subject: 'ann', tenant: TENANT, roles: [], tier: 'free' };

/** Ends at once, or when it is cancelled. */
async function runCommand(command: string, { signal }: EffectContext): Promise<Json> {
  if (command === 'wait') {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    signal.throwIfAborted();
  }
  return { exit_code: command === 'bad' ? 1 : 0, stdout: `ran ${command}`, stderr: '', duration_ms: 1 };
}

describe('the workflow api over the kernel and SQLite', { timeout: 300_000 }, () => {
  let directory: string;
  let api: WorkflowApi;
  let close: () => Promise<void>;
  let ports: OpenStores;
  let runtime: Runtime;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-workflow-'));
    ports = await openStores({ dataDir: directory, warn: assert.fail });
    runtime = await startRuntime({
      ...ports,
      definitions: [workflowActor(), approvalActor],
      handlers: [
        defineEffect({
          kind: 'command.run',
          input: z.looseObject({ command: z.string() }),
          run: ({ command }, context) => runCommand(command, context),
        }),
      ],
      node: 'test',
      settings: { partitions: 4, systemPartitions: 1, removalsGuardedMs: 1_500 },
      warn: (message) => assert.fail(message),
    });
    const { client } = runtime;
    const executions = await ports.documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
    const documents = await ports.documents.collection<ApprovalDocument>(APPROVALS);
    const approvals = createApprovalApi({ client, approvals: documents });
    api = createWorkflowApi({ client, executions, approvals, removals: runtime.removals });
    close = async () => {
      await runtime.stop();
      await ports.close();
    };
  });

  after(async () => {
    await close();
    await rm(directory, { recursive: true, force: true });
  });

  async function start(manifest: WorkflowManifest, workflowId: string = randomUUID()): Promise<string> {
    const executionId = randomUUID();
    await api.start({ executionId, workflowId, manifest, input: { who: 'ann' }, identity });
    return executionId;
  }

  const reaches = (id: string, status: string) =>
    waitUntil(`the run is ${status}`, async () => (await api.status(TENANT, id)).status === status);

  const rejects = (promise: Promise<unknown>, code: string) =>
    assert.rejects(promise, (thrown) => thrown instanceof SvcError && thrown.code === code);

  const command = (text: string, transitions: { condition?: string; target: string }[] = []) => ({
    kind: 'System',
    command: text,
    transitions,
  });
  const human = { kind: 'Human', prompt: 'Go?', transitions: [{ target: 'DONE' }] };

  test('a run of built-in steps has ended when its start is answered, and can be read completely', async () => {
    const executionId = randomUUID();
    const states = { A: pure('a', [{ target: 'B' }]), B: pure('{{input.who}}') };
    const workflowId = randomUUID();
    const request = { executionId, workflowId, manifest: manifestOf(states), input: { who: 'ann' }, identity };
    assert.deepEqual(await api.start(request), { execution_id: executionId, status: 'completed' });
    assert.deepEqual(await api.start(request), { execution_id: executionId, status: 'completed' });
    const execution = await api.get(TENANT, executionId);
    assert.equal(execution.status, 'completed');
    assert.equal(execution.blackboard.ran, 'ann');
    assert.deepEqual(Object.keys(execution.state_outputs), ['A', 'B']);
    assert.deepEqual(execution.output, { stdout: '', stderr: '', exit_code: 0 });
    assert.equal(execution.waiting_for, undefined);
    const { total, events, status } = await api.logs(TENANT, executionId, { limit: 3, offset: 1 });
    assert.deepEqual([status, total, events.length], ['completed', 6, 3]);
    assert.deepEqual(
      events.map(({ sequence, event_type, state_name }) => [sequence, event_type, state_name]),
      [
        [2, 'WorkflowStateEntered', 'A'],
        [3, 'WorkflowStateExited', 'A'],
        [4, 'WorkflowStateEntered', 'B'],
      ],
    );
    const followed: (ActorEvent | null)[] = [];
    const options = { signal: AbortSignal.timeout(20_000), heartbeatMs: 1_000 };
    for await (const event of api.follow(TENANT, executionId, 0, options)) followed.push(event);
    assert.equal(followed.at(-1)?.name, 'WorkflowExecutionCompleted');
    await waitUntil(
      'the run is in the list',
      async () => (await api.list(TENANT, { workflowId, limit: 5 })).total === 1,
    );
    const { items: executions } = await api.list(TENANT, { workflowId, status: 'completed', limit: 5 });
    assert.deepEqual(executions[0], await api.status(TENANT, executionId));
  });

  test('a chain of 300 built-in steps ends by itself, in turns that others can come between', async () => {
    const states = Array.from({ length: 300 }, (_, n) => [
      `S${n}`,
      pure(`${n}`, n < 299 ? [{ target: `S${n + 1}` }] : []),
    ]);
    const id = await start(manifestOf(Object.fromEntries(states)));
    await reaches(id, 'completed');
    assert.equal((await api.get(TENANT, id)).blackboard.ran, '299');
  });

  test('a real effect answers, and the run goes on by its exit code', async () => {
    const failing = command('bad', [{ condition: 'exit_code_non_zero', target: 'DONE' }]);
    const id = await start(manifestOf({ A: failing, DONE: pure('{{A.output.stdout}}') }));
    await reaches(id, 'completed');
    assert.equal((await api.get(TENANT, id)).blackboard.ran, 'ran bad');
  });

  test('a run that waits for a human says so, takes one signal, and refuses a second', async () => {
    const id = await start(manifestOf({ ASK: human, DONE: pure('{{human.feedback}}') }));
    await reaches(id, 'waiting_for_human_input');
    const waiting = (await api.get(TENANT, id)).waiting_for;
    assert.deepEqual([waiting?.kind, waiting?.state_name], ['approval', 'ASK']);
    assert.ok(waiting?.approval_id !== undefined);
    await api.signal(identity, id, 'ship it');
    await reaches(id, 'completed');
    assert.equal((await api.get(TENANT, id)).blackboard.ran, 'ship it');
    await rejects(api.signal(identity, id, 'again'), 'conflict');
  });

  test('a run shows the effect that it waits for, and a cancel ends it', async () => {
    const id = await start(manifestOf({ A: command('wait') }));
    const execution = await api.get(TENANT, id);
    assert.equal(execution.waiting_for?.kind, 'effect');
    assert.equal(execution.waiting_for?.effects?.[0]?.kind, 'command.run');
    assert.ok(execution.waiting_for?.until !== undefined);
    await rejects(api.signal(identity, id, 'yes'), 'conflict');
    await rejects(api.remove(TENANT, id), 'failed_precondition');
    await api.cancel(identity, id);
    assert.equal((await api.status(TENANT, id)).status, 'cancelled');
    await rejects(api.cancel(identity, id), 'failed_precondition');
  });

  test('a run of one user alone is followed and read by that user, in memory and after its end', async () => {
    const user = (subject: string): Identity => ({ ...identity, kind: 'tenant_user', subject });
    const owner = user('ann');
    const executionId = randomUUID();
    const manifest = manifestOf({ A: command('wait') });
    await api.start({
      executionId,
      workflowId: randomUUID(),
      manifest,
      input: {},
      identity: { ...owner, confidential: true },
    });
    const first = async (viewer: Identity) => {
      const signal = AbortSignal.timeout(20_000);
      for await (const event of api.follow(viewer, executionId, 0, { signal, heartbeatMs: 1_000 })) return event?.name;
      return null;
    };
    const onlyOfTheOwner = async (): Promise<void> => {
      assert.equal(await first(owner), 'WorkflowExecutionStarted');
      assert.equal((await api.events(owner, executionId, 0, 1))[0]?.name, 'WorkflowExecutionStarted');
      await rejects(first(user('bob')), 'not_found');
      await rejects(api.events(user('bob'), executionId, 0, 1), 'not_found');
      await rejects(api.get(user('bob'), executionId), 'not_found');
    };
    await onlyOfTheOwner();
    await api.cancel(owner, executionId);
    await onlyOfTheOwner();
  });

  test('a removed run is gone for every reader', async () => {
    const id = await start(manifestOf({ A: pure('a') }));
    await api.remove(TENANT, id);
    await rejects(api.get(TENANT, id), 'not_found');
    await rejects(api.logs(TENANT, id, { limit: 1, offset: 0 }), 'not_found');
  });

  const leftOf = (id: string): Promise<string[]> =>
    leftOfRun(runtime, ports, { kind: 'workflow', tenant: TENANT, id, list: WORKFLOW_EXECUTIONS.name });

  test('a run removed right after its end leaves nothing, whether or not it is archived by then', async () => {
    const ids = await Promise.all(
      [0, 20, 60, 120, 180, 400].map(async (afterMs) => {
        const id = await start(manifestOf({ A: pure('a') }));
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        await api.remove(TENANT, id);
        await rejects(api.status(TENANT, id), 'not_found');
        return id;
      }),
    );
    await waitUntil('nothing of them', async () => {
      await runtime.sweep();
      return (await Promise.all(ids.map(leftOf))).flat().length === 0;
    });
    for (const id of ids) await rejects(api.status(TENANT, id), 'not_found');
  });

  test('another tenant, and an unknown id, find nothing', async () => {
    const id = await start(manifestOf({ A: pure('a') }));
    await rejects(api.status('other', id), 'not_found');
    await rejects(api.status(TENANT, randomUUID()), 'not_found');
    await rejects(api.cancel({ ...identity, tenant: 'other' }, id), 'not_found');
  });
});
