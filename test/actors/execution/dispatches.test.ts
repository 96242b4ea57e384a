import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { executionActor } from '../../../actors/execution/definition.ts';
import { toolSessionActor } from '../../../actors/tool-session/definition.ts';
import { createModelEffect } from '../../../effects/models/model-effect.ts';
import { ModelSelection, ProviderConfig } from '../../../manifests/node/models.ts';
import { ToolRun } from '../../../manifests/tool/call.ts';
import { GrantRequest } from '../../../manifests/tool/scope.ts';
import { addressOf } from '../../../runtime/address.ts';
import type { ActorClient } from '../../../runtime/client.ts';
import { defineEffect } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { openStores } from '../../../runtime/open-stores.ts';
import { startRuntime } from '../../../runtime/runtime.ts';
import { type AttestApi, createAttestApi } from '../../../usecases/attestation.ts';
import { createDispatchApi } from '../../../usecases/dispatches.ts';
import {
  createExecutionApi,
  EXECUTIONS,
  type ExecutionApi,
  type ExecutionDocument,
} from '../../../usecases/executions.ts';
import type { DispatchApi, GatewayAnswer } from '../../../usecases/gateway.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { manifestOf } from './driven-execution.ts';
import { GRANT, policy } from './tooled.ts';

const TENANT = 'acme';
const AGENT = randomUUID();
const identity: Identity = { kind: 'operator', subject: 'ann', tenant: TENANT, roles: [], tier: 'free' };
const secrets = { resolve: (_tenant: string, reference: string) => Promise.resolve(reference) };

/** Reads, writes, runs two commands, answers. */
const SCRIPT = `
rules:
  - match: {round: 1}
    reply: {text: "I look. ", tool_calls: [{name: fs.read, arguments: {path: a}}, {name: fs.write, arguments: {path: b}}]}
  - match: {round: 2, tool_contains: did fs.write}
    reply: {tool_calls: [{name: cmd.run, arguments: {command: make}}, {name: cmd.run, arguments: {command: test}}]}
  - match: {round: 2, tool_contains: in_doubt}
    reply: nobody knows
  - match: {round: 3}
    reply: {text: "All green.", chunks: 2}
`;

/** A node whose tools are functions, on a directory that outlives it. */
async function openNode(dataDir: string, script: string) {
  const ran: string[] = [];
  const hang = { tool: '' };
  const json = (value: unknown): Json => JSON.parse(JSON.stringify(value));
  const toolCall = defineEffect({
    kind: 'tool.call',
    input: ToolRun,
    async run({ tool }, { signal }) {
      ran.push(tool);
      if (tool === hang.tool) {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        throw new SvcError('lease_lost');
      }
      return { content: [{ type: 'text', text: `did ${tool}` }], is_error: false, duration_ms: 1 };
    },
  });
  const grant = defineEffect({ kind: 'tools.grant', input: GrantRequest, run: async () => json(GRANT) });
  const program = defineEffect({
    kind: 'program.run',
    input: z.looseObject({}),
    run: (_input, { signal }) =>
      new Promise<Json>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new SvcError('lease_lost')), { once: true });
      }),
  });
  const models = [{ alias: 'default', model: 'demo' }];
  const model = createModelEffect({
    providers: [ProviderConfig.parse({ name: 'demo', type: 'scripted', script, models })],
    selection: ModelSelection.parse({}),
    secrets,
  });
  const ports = await openStores({ dataDir, warn: assert.fail });
  const runtime = await startRuntime({
    ...ports,
    definitions: [executionActor({ policy }), toolSessionActor({ policy })],
    handlers: [toolCall, grant, program, model],
    node: 'test',
    settings: { partitions: 2, systemPartitions: 1, leaseTtlMs: 1_000, leaseRenewMs: 100 },
    warn: () => {},
  });
  const { client } = runtime;
  const executions = await ports.documents.collection<ExecutionDocument>(EXECUTIONS);
  const api: ExecutionApi = createExecutionApi({ client, executions, removals: runtime.removals });
  const dispatch: DispatchApi = createDispatchApi({ client, blobs: ports.blobs });
  const attest: AttestApi = createAttestApi({ client });
  const stop = async () => {
    await runtime.stop();
    await ports.close();
  };
  return { client, api, dispatch, attest, ran, hang, stop };
}

const IN_NODE: JsonObject = { tools: ['fs.*', 'cmd.run'], execution: { mode: 'one-shot' } };

/** Tools in the order in which they ran. A tool that only reads runs again when the commit that requested it failed. */
const inOrder = (ran: readonly string[]): string[] =>
  ran.filter((tool, n) => tool !== 'fs.read' || ran.indexOf(tool) === n);
const PROGRAM: JsonObject = {
  ...IN_NODE,
  advanced: { bootstrap_path: './agent.sh' },
  runtime: { isolation: 'process' },
};

describe('the inner loop and the dispatch gateway over the kernel and SQLite', { timeout: 300_000 }, () => {
  let directory: string;
  let script: string;
  let node: Awaited<ReturnType<typeof openNode>>;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-dispatch-'));
    script = join(directory, 'answers.yaml');
    await writeFile(script, SCRIPT);
    node = await openNode(directory, script);
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true });
  });

  async function start(spec: JsonObject): Promise<string> {
    const request = { executionId: randomUUID(), agentId: AGENT, manifest: manifestOf(spec), input: 'go', identity };
    return (await node.api.start(request)).execution_id;
  }
  const ended = (id: string) =>
    waitUntil(
      'the execution ends',
      async () => !['running', 'pending'].includes((await node.api.status(TENANT, id)).status),
    );
  const ask = { agent_id: AGENT, iteration_number: 1, model_alias: '', prompt: 'go', messages: [] };
  const dispatchId = (answer: GatewayAnswer): string => {
    assert.ok(answer.type === 'dispatch');
    return answer.dispatch_id;
  };
  const result = (dispatch_id: string) => ({
    ...{ dispatch_id, exit_code: 0, stdout: 'ok', stderr: '', duration_ms: 1, truncated: false },
  });
  const chain = (client: ActorClient, id: string) => client.events(addressOf('tool-session', TENANT, id), 0, 100);

  test('in the node: four calls in three rounds, one stream, one chain', async () => {
    const id = await start(IN_NODE);
    await ended(id);
    const status = await node.api.status(TENANT, id);
    assert.deepEqual([status.status, status.last_output], ['completed', 'All green.']);
    assert.equal(status.tool_calls_executed, 4);
    assert.deepEqual(inOrder(node.ran), ['fs.read', 'fs.write', 'cmd.run', 'cmd.run']);
    const events = await node.api.events(TENANT, id, 0, 100);
    const streamed = events
      .filter(({ name }) => name === 'iteration_output')
      .map(({ payload }) => (payload as JsonObject).output);
    assert.equal(streamed.join(''), 'I look. All green.');
    await waitUntil('the chain has ten links', async () => (await chain(node.client, id)).length === 10);
  });

  test('over the gateway: a waiting request reads the state again only after a change', async () => {
    const id = await start(PROGRAM);
    const seen = new Set<unknown>();
    const revisions = new Set<number>();
    let reads = 0;
    const client: Pick<ActorClient, 'ask' | 'read'> = {
      ask: (...args) => node.client.ask(...args),
      async read(address, known) {
        const snapshot = await node.client.read(address, known);
        reads += 1;
        seen.add(snapshot);
        if (snapshot !== null) revisions.add(snapshot.revision);
        return snapshot;
      },
    };
    const { generate, dispatchResult } = createDispatchApi({ client, blobs: { put: assert.fail } });
    const first = await generate(TENANT, id, ask);
    const second = await dispatchResult(TENANT, id, result(dispatchId(first)));
    await dispatchResult(TENANT, id, result(dispatchId(second)));
    // Each of the three calls begins without one.
    assert.ok(seen.size <= revisions.size + 2, `${seen.size} states were decoded in ${reads} reads`);
  });

  test('over the gateway: a request that was cut off gets the same answer when it is repeated', async () => {
    node.ran.length = 0;
    const id = await start(PROGRAM);
    const cut = new AbortController();
    const waiting = node.dispatch.generate(TENANT, id, ask, { signal: cut.signal });
    cut.abort();
    await assert.rejects(waiting, (error: SvcError) => error.code === 'cancelled');
    const first = await node.dispatch.generate(TENANT, id, ask);
    assert.deepEqual(await node.dispatch.generate(TENANT, id, ask), first);
    assert.deepEqual(first, {
      ...{ type: 'dispatch', dispatch_id: dispatchId(first), action: 'exec', command: 'make', args: [] },
      ...{ cwd: '/workspace', env_additions: {}, timeout_secs: 30, max_output_bytes: 1_000 },
    });
    const second = await node.dispatch.dispatchResult(TENANT, id, result(dispatchId(first)));
    assert.deepEqual(await node.dispatch.dispatchResult(TENANT, id, result(dispatchId(first))), second);
    const { waiting_for } = await node.api.status(TENANT, id);
    assert.match(waiting_for?.reason ?? '', /iteration 1, round 2 waits for its bootstrap, which has cmd\.run to run/);
    const final = await node.dispatch.dispatchResult(TENANT, id, result(dispatchId(second)));
    assert.ok(final.type === 'final');
    assert.deepEqual([final.content, final.tool_calls_executed, final.conversation.length], ['All green.', 4, 8]);
    assert.deepEqual(inOrder(node.ran), ['fs.read', 'fs.write']);
    assert.deepEqual(await node.dispatch.dispatchResult(TENANT, id, result(dispatchId(second))), final);
    await assert.rejects(node.dispatch.dispatchResult(TENANT, id, result('unknown')), /no dispatch unknown is open/);
    await node.api.cancel(TENANT, id);
    await assert.rejects(node.dispatch.generate(TENANT, id, ask), (error: SvcError) =>
      ['failed_precondition', 'not_found'].includes(error.code),
    );
  });

  test('an attested session is noted, and its subject names the execution', async () => {
    const id = await start(PROGRAM);
    const request = { executionId: id, agentId: AGENT, containerId: id, sessionId: randomUUID() };
    const { subject, grant_request } = await node.attest.attest(TENANT, request);
    assert.deepEqual([subject.execution_id, subject.session_id], [id, request.sessionId]);
    assert.equal(grant_request.manifest?.length, 2);
    await assert.rejects(node.attest.attest(TENANT, { ...request, agentId: randomUUID() }), /agent_id/);
    await node.api.cancel(TENANT, id);
  });

  test('a node that stops while a once tool runs: the next one tells the model, lists the call, and repeats nothing', async () => {
    node.ran.length = 0;
    node.hang.tool = 'fs.write';
    const id = await start(IN_NODE);
    await waitUntil('the tool runs', () => node.ran.includes('fs.write'));
    assert.match(
      (await node.api.status(TENANT, id)).waiting_for?.reason ?? '',
      /round 1 waits for its tool call fs\.write/,
    );
    await node.stop();
    node = await openNode(directory, script);
    await ended(id);
    const status = await node.api.status(TENANT, id);
    assert.deepEqual([status.status, status.last_output], ['completed', 'nobody knows']);
    assert.deepEqual(
      status.calls_in_doubt?.map(({ tool }) => tool),
      ['fs.write'],
    );
    assert.deepEqual(node.ran, []);
  });
});
