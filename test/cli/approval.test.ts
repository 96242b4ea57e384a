import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { approvalActor } from '../../actors/approval/definition.ts';
import { ApprovalState } from '../../actors/approval/messages.ts';
import { APPROVALS, type ApprovalDocument } from '../../actors/approval/view.ts';
import { addressOf } from '../../runtime/address.ts';
import { createApprovalApi } from '../../usecases/approvals.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';
import { restServer } from '../transport/rest/rest-server.ts';
import { svc } from './svc-run.ts';

describe('svc approval', () => {
  let kernel: KernelNode;
  let at: Awaited<ReturnType<typeof restServer>>;
  before(async () => {
    kernel = await startKernelNode({ definitions: [approvalActor] });
    const approvals = await kernel.documents.collection<ApprovalDocument>(APPROVALS);
    at = await restServer({ approvals: createApprovalApi({ client: kernel.runtime.client, approvals }) });
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
    await kernel.stop();
  });

  const run = (...args: string[]) => svc(['approval', ...args], { SVC_URL: at.base });
  const addressFor = (id: string) => addressOf('approval', 'svc-system', id);
  async function ask(): Promise<string> {
    const id = randomUUID();
    const notify = { to: addressFor(id), as: 'Nobody', context: null };
    const question = { approval_id: id, execution_id: 'run-1', state_name: 'GATE', prompt: 'Ship it?' };
    const payload = { ...question, timeout_ms: null, default_response: null, notify };
    await kernel.runtime.client.ask(addressFor(id), 'Ask', payload);
    return id;
  }
  const stateOf = async (id: string) => ApprovalState.parse((await kernel.runtime.client.read(addressFor(id)))?.state);

  test('list shows pending approvals; approve and reject answer them', async () => {
    const [yes, no] = [await ask(), await ask()];
    await waitUntil('both are listed', async () => {
      const { stdout } = await run('list', '--output', 'json');
      const ids = JSON.parse(stdout).map((request: { id: string }) => request.id);
      return ids.includes(yes) && ids.includes(no);
    });
    assert.match((await run('list')).stdout, /^ID .*PROMPT\n.*Ship it\?/);
    assert.equal((await run('approve', yes, '--feedback', 'fine', '--by', 'ada')).stdout, `approved request ${yes}\n`);
    const approved = await stateOf(yes);
    assert.ok(approved.status === 'answered');
    assert.deepEqual([approved.payload, approved.feedback, approved.by], ['approved', 'fine', 'ada']);
    assert.equal((await run('reject', no, '--reason', 'no tests')).stdout, `rejected request ${no}\n`);
    const rejected = await stateOf(no);
    assert.ok(rejected.status === 'answered');
    assert.deepEqual([rejected.payload, rejected.feedback], ['rejected', 'no tests']);
  });

  test('a second answer is exit code 4, an unknown request 1, a malformed id or no reason 2', async () => {
    const id = await ask();
    assert.equal((await run('approve', id)).code, 0);
    const second = await run('approve', id);
    assert.deepEqual([second.code, second.stderr], [4, 'svc: the request was answered already\n']);
    const unknown = await run('reject', randomUUID(), '--reason', 'x');
    assert.deepEqual([unknown.code, unknown.stderr], [1, 'svc: request not found\n']);
    const malformed = await run('approve', 'nope');
    const expected = 'svc: invalid request id: expected the UUID of an approval; svc approval list shows them\n';
    assert.deepEqual([malformed.code, malformed.stderr], [2, expected]);
    assert.equal((await run('reject', id)).code, 2);
  });
});
