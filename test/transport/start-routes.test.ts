import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Client, credentials, type Metadata, status } from '@grpc/grpc-js';
import { z } from 'zod';
import { NodeClusterServiceService } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcRuntimeService } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { MANAGEMENT_CONTRACTS } from '../../tools/management/contracts.ts';
import { callTool } from '../../usecases/caller-tools.ts';
import { invokeTool } from '../../usecases/seal/invoke-tool.ts';
import { Admission, startsRun } from '../../usecases/starts/admission.ts';
import type { ToolSessionApi } from '../../usecases/tool-sessions.ts';
import { HandClock } from '../support/hand-clock.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type FleetNode, fleetNode } from './cluster/node.ts';
import { node, type TestNode } from './grpc/node.ts';

/** POST routes that start work. */
const STARTS = [
  ...['/v1/agents', '/v1/agents/{id}/execute', '/v1/agents/generate', '/v1/execute', '/v1/execute/intent'],
  ...['/v1/executions', '/v1/stimuli', '/v1/webhooks/{source}', '/v1/workflows', '/v1/workflows/{name}/run'],
  ...['/v1/workflows/generate', '/v1/runs/{id}/fork'],
];
/** Starts a run or not, by the tool that is called. */
const TOOLS = ['/v1/tools/{name}', '/v1/seal/invoke', '/v1/invoke'];
/** Routes that change, answer or cancel what exists. */
const OTHERS = [
  ...[
    '/v1/agents/{id}/scope',
    '/v1/agents/validate',
    '/v1/executions/{id}/cancel',
    '/v1/workflows/validate',
    '/v1/workflows/{name}/scope',
  ],
  ...['/v1/workflows/executions/{id}/cancel', '/v1/workflows/executions/{id}/signal', '/v1/cortex/patterns'],
  ...['/v1/human-approvals/{id}/approve', '/v1/human-approvals/{id}/reject', '/v1/volumes', '/v1/chaos/faults'],
  ...['/v1/volumes/{id}/files/mkdir', '/v1/api-keys', '/v1/api-keys/validate', '/v1/seal/attest'],
  ...['/v1/seal/sessions/{id}/revoke', '/v1/cluster/nodes/{id}/drain', '/v1/cluster/nodes/{id}/shutdown'],
  ...[
    '/v1/cluster/config/push',
    '/v1/cluster/join-tokens',
    '/v1/cluster/secret-keys/rotate',
    '/v1/dead-letters/{id}/replay',
    '/v1/dead-letters/{id}/discard',
  ],
];

const RUNTIME = SvcRuntimeService;
const GRPC_STARTS = [
  RUNTIME.executeAgent,
  RUNTIME.executeSystemCommand,
  RUNTIME.validateWithJudges,
  RUNTIME.ingestStimulus,
];
const GRPC_OTHERS = [RUNTIME.queryMemoryPatterns, RUNTIME.storeMemoryPattern, RUNTIME.attestAgent, RUNTIME.invokeTool];

/** A source of webhooks with a secret: without a valid signature no body is read. */
const SOURCE = 'shop';
const SIGNED = { 'x-svc-signature': `sha256=${'0'.repeat(64)}` };

const concrete = (path: string): string =>
  path.replace('{source}', SOURCE).replace(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');

/** A request whose body does not end until it is released. */
function halfOpen(url: string): () => void {
  const request = httpRequest(url, { method: 'POST', headers: { 'content-type': 'application/json', ...SIGNED } });
  request.on('error', () => {});
  request.write('{');
  return () => request.destroy();
}

/** A call whose message is not sent until it is released; `ended` has its status, which is a refusal when it comes early. */
function halfOpenCall(client: Client, path: string) {
  const ended = Promise.withResolvers<{ readonly code: number; readonly metadata: Metadata }>();
  const bytes = (value: Buffer): Buffer => value;
  const call = client.makeClientStreamRequest(path, bytes, bytes, () => {});
  call.on('error', () => {});
  call.on('status', (end) => ended.resolve(end));
  return { ended: ended.promise, letGo: () => call.cancel() };
}

describe('ways to start a run, on a node that takes one start at a time', { timeout: 300_000 }, () => {
  let at: TestNode;
  let grpc: Client;
  before(async () => {
    const spec = { limits: { starts_in_flight: 1, start_wait_ms: 10 } };
    at = await node({ spec, env: { SVC_WEBHOOK_SECRET_SHOP: 'secret' } });
    grpc = new Client(at.address, credentials.createInsecure());
  });
  after(async () => {
    grpc.close();
    await at[Symbol.asyncDispose]();
  });

  const post = async (path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${at.restUrl}${path}`, init);
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
  };
  const isFull = async (): Promise<boolean> => (await post('/v1/executions')).status === 503;
  /** Occupies the only slot while `use` runs. */
  async function whileHeld(hold: () => () => void, use: () => Promise<void>): Promise<void> {
    await waitUntil('the place is free', async () => !(await isFull()));
    const letGo = hold();
    try {
      await waitUntil('the place is held', isFull);
      await use();
    } finally {
      letGo();
    }
    await waitUntil('the place is free again', async () => !(await isFull()));
  }
  const isRefusal = ({ status, retryAfter, text }: Awaited<ReturnType<typeof post>>): void => {
    assert.equal(status, 503, text);
    assert.match(text, /overloaded/);
    assert.match(retryAfter ?? '', /^[1-4]$/);
  };

  test('every POST route of the node is known as a start or as none', async () => {
    const described: unknown = await (await fetch(`${at.restUrl}/v1/openapi.json`)).json();
    const { paths } = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) }).parse(described);
    const posts = Object.keys(paths).filter((path) => paths[path]?.post !== undefined);
    assert.deepEqual(
      posts.filter((path) => ![...STARTS, ...TOOLS, ...OTHERS].includes(path)),
      [],
    );
    assert.deepEqual(
      [...STARTS, ...TOOLS].filter((path) => !posts.includes(path)),
      [],
    );
    const methods = Object.values(RUNTIME).map(({ path }) => path);
    assert.deepEqual(methods.toSorted(), [...GRPC_STARTS, ...GRPC_OTHERS].map(({ path }) => path).toSorted());
  });

  for (const path of STARTS) {
    test(`POST ${path} is counted, and refused as overloaded with Retry-After`, async () => {
      const url = `${at.restUrl}${concrete(path)}`;
      await whileHeld(
        () => halfOpen(url),
        async () => isRefusal(await post(concrete(path))),
      );
    });
  }

  for (const { path } of GRPC_STARTS) {
    test(`${path} is counted, and refused as overloaded with RetryInfo`, async () => {
      await whileHeld(
        () => halfOpenCall(grpc, path).letGo,
        async () => {
          const { code, metadata } = await halfOpenCall(grpc, path).ended;
          assert.equal(code, status.UNAVAILABLE);
          assert.deepEqual(metadata.get('svc-error-code'), ['overloaded']);
          assert.match(String(metadata.get('grpc-status-details-bin')), /google\.rpc\.RetryInfo/);
        },
      );
    });
  }

  test('tools that start a run are refused, over MCP and REST; reads, cancels and other tools are taken', async () => {
    const hold = () => halfOpen(`${at.restUrl}/v1/executions`);
    await whileHeld(hold, async () => {
      for (const { name } of MANAGEMENT_CONTRACTS.filter((tool) => startsRun(tool.name))) {
        isRefusal(await post(`/v1/tools/${name}`));
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } };
        const { text } = await post('/mcp', message, { accept: 'application/json, text/event-stream' });
        assert.match(text, /"reason":"overloaded".*"retry_after_ms":[1-4]\d\d\d/, name);
      }
      assert.equal((await post('/v1/tools/svc.agent.list')).status, 200);
      assert.equal((await fetch(`${at.restUrl}/v1/executions`)).status, 200);
      assert.equal((await post(concrete('/v1/executions/{id}/cancel'))).status, 404);
    });
  });
});

describe('tools that start a run', () => {
  const admission = new Admission({
    ...{ clock: new HandClock(), random: systemRandom },
    limits: { starts_in_flight: 1, start_wait_ms: 10 },
  });

  test('are those of the specification that start one', () => {
    const names = MANAGEMENT_CONTRACTS.map(({ name }) => name).filter(startsRun);
    const expected = ['svc.agent.generate', 'svc.execute', 'svc.execute.intent', 'svc.task.execute'];
    assert.deepEqual(names.toSorted(), [...expected, 'svc.workflow.generate', 'svc.workflow.run']);
    const starting = MANAGEMENT_CONTRACTS.filter(({ mode, reads }) => mode === 'repeatable' && !reads);
    assert.deepEqual(starting.map(({ name }) => name).toSorted(), names.toSorted());
  });

  /** A session whose calls are answered when the test releases them. */
  function session() {
    const answer = Promise.withResolvers<void>();
    const outcome = { content: [], is_error: false, duration_ms: 1 };
    const sessions: Pick<ToolSessionApi, 'open' | 'invoke' | 'refuse'> = {
      open: async () => {},
      invoke: () => answer.promise.then(() => ({ kind: 'outcome', outcome, replayed: false })),
      refuse: async () => {},
    };
    return { sessions, answer: answer.resolve };
  }

  test('are counted until they are answered, by callers', async () => {
    const { sessions, answer } = session();
    const grant = {
      security_context: 'c',
      deny_list: [],
      capabilities: [],
      manifest: [],
      network: null,
      filesystem: null,
    };
    const granter = { callerGrant: async () => ({ ...grant, tools: [] }), outputSchema: () => undefined };
    const parts = { granter, sessions, admission, clock: systemClock, random: systemRandom };
    const identity: Identity = { kind: 'local', subject: 's', tenant: SYSTEM_TENANT, roles: [], tier: 'free' };
    const caller = { identity, trace: 'a'.repeat(32), signal: new AbortController().signal };
    const call = (tool: string) => callTool(parts, caller, { source: 'rest', tool, arguments: {}, call: 'n:1' });
    const first = call('svc.task.execute');
    await assert.rejects(call('svc.workflow.run'), { code: 'overloaded' });
    const other = call('svc.task.list');
    assert.equal(admission.counts.inFlight, 1);
    answer();
    await Promise.all([first, other]);
    assert.equal(admission.counts.inFlight, 0);
  });

  test('are counted until they are answered, in SEAL envelopes', async () => {
    const { sessions, answer } = session();
    const claims = {
      ...{ tenant: 't', sessionId: 's', agentId: 'a', executionId: 'e', workloadId: 'w', securityContext: 'c' },
      ...{ publicKey: generateKeyPairSync('ed25519').publicKey, expiresAt: 0 },
    };
    const opening = (tool: string) => ({
      open: async () => ({
        ok: true as const,
        call: { claims, envelopeHash: '', payloadHash: '', rpc: { id: 1, tool, arguments: {} } },
      }),
    });
    const envelope = { protocol: '', security_token: '', signature: '', payload: new Uint8Array(), timestamp: '' };
    const call = (tool: string) =>
      invokeTool({ envelopes: opening(tool), sessions, admission }, envelope, { caller: null, trace: '' });
    const first = call('svc.task.execute');
    await waitUntil('the call is counted', () => admission.counts.inFlight === 1);
    const refused = await call('svc.task.execute');
    assert.equal(refused.ok ? null : refused.error.code, 'overloaded');
    answer();
    assert.equal((await first).ok, true);
    assert.equal(admission.counts.inFlight, 0);
  });
});

test('executions that a controller forwards are counted, and refused as overloaded', { timeout: 300_000 }, async () => {
  const limits = { starts_in_flight: 1, start_wait_ms: 10 };
  const admission = new Admission({ clock: new HandClock(), random: systemRandom, limits });
  const at: FleetNode = await fleetNode({ admission });
  const client = new Client(at.address, credentials.createInsecure());
  try {
    const { path } = NodeClusterServiceService.forwardExecution;
    const ended = admission.enter();
    const { code, metadata } = await halfOpenCall(client, path).ended;
    assert.equal(code, status.UNAVAILABLE);
    assert.deepEqual(metadata.get('svc-error-code'), ['overloaded']);
    ended();
    // Without a token it is refused, and no longer counted.
    assert.equal((await halfOpenCall(client, path).ended).code, status.UNAUTHENTICATED);
    assert.equal(admission.counts.inFlight, 0);
  } finally {
    client.close();
    await at[Symbol.asyncDispose]();
  }
});
