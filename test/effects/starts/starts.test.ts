import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AgentStarts, createAgentStart, createWorkflowStart } from '../../../effects/starts/child-start.ts';
import type { EffectHandler } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { effectContext } from '../../support/effect-context.ts';
import { refused } from '../../support/refused.ts';

const CHILD = '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a01';
const TRACE = 'a'.repeat(32);
const identity = { kind: 'tenant_user', subject: 'ada', tenant: 'acme', roles: ['svc:operator'], tier: 'pro' };
const agentInput: JsonObject = {
  execution_id: CHILD,
  agent: 'writer',
  input: 'write',
  context: { tone: 'dry' },
  isolation: 'docker',
  mounts: [{ volume_id: 'v1', mount_path: '/workspace', access_mode: 'read-write' }],
  one_shot: true,
  workflow_execution_id: 'wf-1',
  notify: { to: 'workflow/acme/wf-1', as: 'AgentWord', context: { state: 'WRITE' } },
  identity,
};
const workflowInput: JsonObject = {
  execution_id: CHILD,
  workflow: 'release',
  version: '1.2.0',
  intent: 'ship it',
  input: { tag: 'v1' },
  blackboard: { seen: [] },
  ancestors: [{ workflow_id: 'w0', name: 'parent', execution_id: 'e0' }],
  notify: { to: 'workflow/acme/wf-1', as: 'ChildWord', context: null },
  identity,
};

/** Runs a handler as the runner does: its input is checked, and the test controls the signal. */
function run<Input extends EffectHandler['input']>(
  handler: EffectHandler<Input>,
  input: Json,
  { tenant = 'acme', signal = new AbortController().signal } = {},
): Promise<Json> {
  const context = effectContext({ effectId: 'e-1', tenant, address: 'workflow/acme/wf-1', trace: TRACE, signal });
  return handler.run(handler.input.parse(input), context);
}

/** Starts that record their calls; `meanwhile` runs after the start was sent. */
function book(outcome: SvcError | null = null, meanwhile: () => void = () => {}) {
  const started: unknown[] = [];
  const cancelled: string[] = [];
  const cancelFails: { with: SvcError | null } = { with: null };
  const begin = async (request: unknown): Promise<void> => {
    started.push(request);
    meanwhile();
    if (outcome !== null) throw outcome;
  };
  const cancel = async (tenant: string, id: string): Promise<void> => {
    cancelled.push(`${tenant}/${id}`);
    if (cancelFails.with !== null) throw cancelFails.with;
  };
  const agent = createAgentStart({
    start: async (request) => {
      await begin(request);
      return { agent_id: 'a-1' };
    },
    cancel,
  });
  const workflow = createWorkflowStart({
    start: async (request) => {
      await begin(request);
      return { workflow_id: 'w-1', name: 'release' };
    },
    cancel,
  });
  return { agent, workflow, started, cancelled, cancelFails };
}

describe('agent.start and workflow.start', () => {
  test('agent.start and workflow.start pass the complete request on, and answer with the started run', async () => {
    const { agent, workflow, started } = book();
    assert.deepEqual(await run(agent, agentInput), { agent_id: 'a-1' });
    assert.deepEqual(await run(workflow, workflowInput), { workflow_id: 'w-1', name: 'release' });
    assert.deepEqual(started, [agentInput, workflowInput]);
  });

  test('optional fields may be absent', async () => {
    const { agent, workflow, started } = book();
    const { execution_id, notify } = agentInput;
    await run(agent, {
      execution_id: execution_id ?? '',
      agent: 'writer',
      input: '',
      notify: notify ?? null,
      identity,
    });
    await run(workflow, { execution_id: execution_id ?? '', workflow: 'release', input: null, identity });
    assert.deepEqual(started, [
      { execution_id: CHILD, agent: 'writer', input: '', notify, identity, one_shot: false },
      { execution_id: CHILD, workflow: 'release', input: null, identity, ancestors: [] },
    ]);
  });

  const MISFITS: readonly [what: string, change: JsonObject, path: RegExp][] = [
    ['an execution id that is no UUID', { execution_id: 'mine' }, /execution_id/],
    ['no name', { agent: '' }, /agent/],
    ['an endless name', { agent: 'x'.repeat(300) }, /agent/],
    ['an unknown isolation', { isolation: 'chroot' }, /isolation/],
    ['a relative mount', { mounts: [{ volume_id: 'v', mount_path: 'x', access_mode: 'read-only' }] }, /mounts/],
    ['an address that is none', { notify: { to: 'nowhere', as: 'Word', context: null } }, /notify/],
    ['no actor to notify', { notify: null }, /notify/],
    ['no identity', { identity: null }, /identity/],
  ];
  for (const [what, change, path] of MISFITS) {
    test(`${what} is refused before anything starts`, () => {
      const { agent } = book();
      const parsed = agent.input.safeParse({ ...agentInput, ...change });
      assert.ok(!parsed.success);
      assert.match(JSON.stringify(parsed.error.issues), path);
    });
  }

  test('a child never runs in another tenant than its parent', async () => {
    const { agent, workflow, started } = book();
    await assert.rejects(run(agent, agentInput, { tenant: 'other' }), refused('forbidden', /tenant/));
    await assert.rejects(run(workflow, workflowInput, { tenant: 'other' }), refused('forbidden', /tenant/));
    assert.deepEqual(started, []);
  });

  test('the error names an agent or workflow that is not deployed', async () => {
    const { agent, workflow } = book(new SvcError('not_found', 'secret detail'));
    await assert.rejects(
      run(agent, agentInput),
      refused('not_found', /^agent "writer" is not deployed in this tenant$/),
    );
    await assert.rejects(run(workflow, workflowInput), refused('not_found', /^workflow "release" is not deployed/));
  });

  test('an input that does not fit its schema is an error that names the place, in the text that the parent reads', async () => {
    const details = [
      { path: 'input.tag', message: 'expected a string' },
      { path: 'input.count', message: 'expected a number' },
    ];
    const { workflow } = book(new SvcError('validation_failed', 'the input does not fit', { details }));
    await assert.rejects(
      run(workflow, workflowInput),
      refused(
        'validation_failed',
        /^workflow "release": the input does not fit; input.tag: expected a string; input.count: expected a number$/,
      ),
    );
  });

  test('what the message of a failed start names already is not said a second time', async () => {
    const details = [
      { path: 'input.tag', message: 'must be string' },
      { path: 'input.count', message: 'must be integer' },
    ];
    const message = 'The input does not fit the schema of workflow release. input.tag: must be string.';
    const { workflow } = book(new SvcError('validation_failed', message, { details }));
    await assert.rejects(
      run(workflow, workflowInput),
      refused(
        'validation_failed',
        /^workflow "release": The input does not fit the schema of workflow release\. input\.tag: must be string; input\.count: must be integer$/,
      ),
    );
  });

  test('other failures keep their code, so that those worth a retry are tried again', async () => {
    for (const failure of ['unavailable', 'mailbox_full', 'conflict', 'unsupported_isolation'] as const) {
      const { agent, cancelled } = book(new SvcError(failure, 'as it was'));
      await assert.rejects(run(agent, agentInput), refused(failure, /^as it was$/));
      assert.deepEqual(cancelled, []);
    }
  });

  test('an effect that is cancelled before its turn starts nothing', async () => {
    const { agent, started, cancelled } = book();
    const signal = AbortSignal.abort(new SvcError('cancelled'));
    await assert.rejects(run(agent, agentInput, { signal }), refused('cancelled', /./));
    assert.deepEqual([started, cancelled], [[], []]);
  });

  test('an effect that is cancelled after the start was sent cancels the child too', async () => {
    const controller = new AbortController();
    const { agent, workflow, cancelled } = book(null, () => controller.abort(new SvcError('cancelled')));
    await run(agent, agentInput, { signal: controller.signal });
    assert.deepEqual(cancelled, [`acme/${CHILD}`]);
    const other = new AbortController();
    const again = book(new SvcError('cancelled'), () => other.abort(new SvcError('cancelled')));
    await assert.rejects(run(again.workflow, workflowInput, { signal: other.signal }), refused('cancelled', /./));
    assert.deepEqual(again.cancelled, [`acme/${CHILD}`]);
    assert.ok(workflow.kind === 'workflow.start');
  });

  test('a child that does not exist, or has ended, needs no cancel; one that cannot be cancelled is an error', async () => {
    for (const [failure, fails] of [
      ['not_found', false],
      ['failed_precondition', false],
      ['unavailable', true],
    ] as const) {
      const controller = new AbortController();
      const { agent, cancelFails } = book(null, () => controller.abort(new SvcError('cancelled')));
      cancelFails.with = new SvcError(failure);
      const running = run(agent, agentInput, { signal: controller.signal });
      await (fails ? assert.rejects(running, refused(failure, /./)) : running);
    }
  });

  test('a node that stops, loses its claim or runs out of time leaves the child to the next attempt', async () => {
    for (const reason of ['lease_lost', 'deadline_exceeded'] as const) {
      const controller = new AbortController();
      const { agent, cancelled } = book(null, () => controller.abort(new SvcError(reason)));
      await run(agent, agentInput, { signal: controller.signal });
      assert.deepEqual(cancelled, []);
    }
  });

  test('signal and trace context reach the start', async () => {
    const { signal } = new AbortController();
    let seen: unknown[] = [];
    const starts: AgentStarts = {
      start: async (_request, call) => {
        seen = [call.signal, call.trace];
        return { agent_id: 'a-1' };
      },
      cancel: async () => {},
    };
    await run(createAgentStart(starts), agentInput, { signal });
    assert.deepEqual(seen, [signal, TRACE]);
  });
});
