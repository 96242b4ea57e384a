import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import type { Envelope } from '../../product/seal/independent-agent.ts';
import { grpcClient, restClient, type SealClient } from '../../product/seal/transports.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { Agent } from './agent.ts';
import { DENIED, ENVELOPE_ROWS, type EnvelopeRow, INTERNAL, READ, UNAUTHENTICATED } from './envelope-rows.ts';
import { AGENT, type SealServer, said, sealServer } from './seal-server.ts';

const failing = (code: string, message: string) =>
  said(message, { is_error: true, error: { code, class: 'policy', message } });

interface Row extends Omit<EnvelopeRow, 'envelope'> {
  readonly retryAfter?: true;
  envelope(agent: Agent, at: SealServer): Envelope | Promise<Envelope>;
  before?(at: SealServer, agent: Agent): void | Promise<void>;
}

const tokenOf = (agent: Agent, at: SealServer, expiresAt: number) =>
  at.tokens.issue({
    agentId: AGENT,
    executionId: agent.running.executionId,
    tenant: agent.running.tenant,
    sessionId: agent.sessionId,
    workloadId: agent.running.executionId,
    securityContext: 'test',
    publicKey: agent.publicKey,
    expiresAt,
  });

const answering =
  (answer: () => ReturnType<typeof said>) =>
  (at: SealServer): void => {
    at.told.answer = async () => answer();
  };

/** Rows that need a state of the server. */
const ROWS: readonly Row[] = [
  ...ENVELOPE_ROWS,
  {
    what: 'a failure that a tool reports',
    is: [200, null, 'OK'],
    runs: 1,
    before: answering(() =>
      said('no such file', { is_error: true, error: { code: 'NOT_FOUND', class: 'recoverable', message: 'no' } }),
    ),
    envelope: (a) => a.call(1, 'fs.read', READ),
  },
  // Session expired or bad signature.
  {
    what: 'an expired token',
    is: UNAUTHENTICATED,
    message: /expired/,
    envelope: async (a, at) => ({
      ...a.call(1, 'fs.read', READ),
      security_token: await tokenOf(a, at, Date.now() - 60_000),
    }),
  },
  // Policy violation or inactive session.
  {
    what: 'a tool that changed under the agent',
    is: DENIED,
    reason: 'ToolChanged',
    runs: 1,
    before: answering(() => failing('ToolChanged', 'it changed')),
    envelope: (a) => a.call(1, 'fs.read', READ),
  },
  {
    what: 'a closed session',
    is: DENIED,
    reason: 'SessionInactive',
    before: async (at, agent) => {
      const address = `tool-session/${agent.running.tenant}/${agent.sessionId}` as const;
      await at.kernel.runtime.client.ask(address, 'Close', { reason: 'the execution is completed' });
    },
    envelope: (a) => a.call(1, 'fs.read', READ),
  },
  {
    what: 'a session that was never opened',
    is: DENIED,
    reason: 'SessionInactive',
    envelope: async (a, at) => {
      const security_token = await at.tokens.issue({
        agentId: AGENT,
        executionId: randomUUID(),
        tenant: a.running.tenant,
        sessionId: randomUUID(),
        workloadId: 'x',
        securityContext: 'test',
        publicKey: a.publicKey,
        expiresAt: Date.now() + 60_000,
      });
      return { ...a.call(1, 'fs.read', READ), security_token };
    },
  },
  // Rate limits.
  {
    what: 'a rate limit',
    is: [429, -32000, 'RESOURCE_EXHAUSTED'],
    reason: 'RateLimitExceeded',
    runs: 1,
    retryAfter: true,
    before: answering(() => failing('RateLimitExceeded', 'at most 10 calls in 60 s')),
    envelope: (a) => a.call(1, 'fs.read', READ),
  },
  // Judge timeout or internal error.
  {
    what: 'a tool that could not be run',
    is: INTERNAL,
    runs: 1,
    before: answering(() => {
      throw new SvcError('tool_failed', 'no such node');
    }),
    envelope: (a) => a.call(1, 'fs.read', READ),
  },
  {
    what: 'a call that the node of the tool refuses',
    is: INTERNAL,
    runs: 1,
    before: answering(() => {
      throw new SvcError('not_found', 'no volume');
    }),
    envelope: (a) => a.call(1, 'fs.read', READ),
  },
  {
    what: 'a bug, whose text is not shown',
    is: INTERNAL,
    runs: 1,
    message: /^An internal error occurred\./,
    before: answering(() => {
      throw new Error('password=hunter2');
    }),
    envelope: (a) => a.call(1, 'fs.read', READ),
  },
];

describe('InvokeTool and POST /v1/seal/invoke, by one table', () => {
  let at: SealServer;
  let clients: readonly SealClient[];
  before(async () => {
    at = await sealServer();
    clients = [restClient(at.restUrl), grpcClient(at.grpcAddress)];
  });
  after(async () => {
    for (const client of clients) client[Symbol.dispose]();
    await at[Symbol.asyncDispose]();
  });

  for (const row of ROWS) {
    const [http, rpc, grpc] = row.is;
    test(`${row.what} is ${http} ${rpc ?? ''} over REST and ${grpc} over gRPC`, async () => {
      for (const client of clients) {
        at.told.answer = async ({ tool }) => said(`${tool} done`);
        const agent = await new Agent(at.start()).attest(client);
        await row.before?.(at, agent);
        at.runs.length = 0;
        const envelope = await row.envelope(agent, at);
        const answer = await client.invoke(envelope);
        const shown = `${client.name}: ${JSON.stringify(answer)}`;
        assert.equal(answer.status, client.name === 'REST' ? http : grpc, shown);
        if (client.name === 'REST' && rpc !== null) assert.equal(answer.rpcCode, rpc, shown);
        assert.equal(answer.reason, row.reason, shown);
        if (row.message !== undefined) assert.match(answer.message, row.message, shown);
        assert.equal(answer.retryAfter, row.retryAfter === true, shown);
        assert.equal(at.runs.length, row.runs ?? 0, shown);
      }
    });
  }

  test('a large result is answered whole', async () => {
    const whole = { content: [{ type: 'text', text: 'x'.repeat(100_000) }], structured: { lines: 3 } };
    const ref = await at.blobs.put('svc-system', Buffer.from(JSON.stringify(whole)));
    at.told.answer = async () => said('x…', { stored: { ref, bytes: 100_000 } });
    for (const client of clients) {
      const agent = await new Agent(at.start()).attest(client);
      const { result } = await client.invoke(agent.call(1, 'fs.read', READ));
      assert.equal(result?.text.length, 100_000);
      assert.deepEqual(result?.structured, { lines: 3 });
    }
  });

  test('the id of the answer is the one of the request, as it was', async () => {
    for (const client of clients) {
      const agent = await new Agent(at.start()).attest(client);
      for (const id of [0, 7, 'seven', '7']) {
        assert.equal((await client.invoke(agent.call(id, 'fs.read', READ))).id, id);
      }
    }
  });

  test('/v1/invoke is the same as /v1/seal/invoke', async () => {
    const client = restClient(at.restUrl, { path: '/v1/invoke' });
    const agent = await new Agent(at.start()).attest(client);
    assert.equal((await client.invoke(agent.call(1, 'fs.read', READ))).status, 200);
    assert.equal((await client.invoke(agent.call(1, 'fs.write', { ...READ, content: '' }))).rpcCode, -32600);
  });

  test('the chain names every attempt that reached the session', async () => {
    const [rest = assert.fail()] = clients;
    const agent = await new Agent(at.start()).attest(rest);
    const good = agent.call(1, 'fs.read', READ);
    await rest.invoke(good);
    await rest.invoke(agent.call(2, 'fs.delete', READ));
    await rest.invoke({ ...good, timestamp: '2020-01-01T00:00:00Z' });
    await rest.invoke({ ...good, payload: agent.call(9, 'fs.read', READ).payload });
    await rest.invoke(agent.call(1, 'fs.read', { path: '/workspace/b' }));
    const { tenant } = agent.running;
    // Refused envelopes are recorded by tell, without an answer, so their entries arrive later.
    const records = await waitUntil('all attempts are recorded', async () => {
      const found = await at.sessions.audit(tenant, agent.sessionId);
      return found.length === 7 ? found : undefined;
    });
    const named = records.map(({ body }) => ('reason' in body && body.reason !== null ? body.reason : body.kind));
    assert.deepEqual(named.slice(0, 4), ['opened', 'decided', 'ended', 'ToolExplicitlyDenied']);
    assert.deepEqual(named.slice(4).sort(), [
      'signature_invalid',
      'the id was used for another call of this session',
      'timestamp_stale',
    ]);
  });

  test('the chain names a body that is no envelope, when its token claims the session', async () => {
    const [rest = assert.fail()] = clients;
    const agent = await new Agent(at.start()).attest(rest);
    const { payload, ...envelope } = agent.call(1, 'fs.read', READ);
    const bodies = [
      envelope,
      { ...envelope, payload: '%' },
      { ...envelope, payload: null },
      { ...envelope, payload: '', x: 1 },
    ];
    for (const body of [...bodies, { payload: payload.toString('base64') }, 'x', null]) {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${at.restUrl}/v1/seal/invoke`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 400);
    }
    const records = await waitUntil('all attempts are recorded', async () => {
      const found = await at.sessions.audit(agent.running.tenant, agent.sessionId);
      return found.length === 5 ? found : undefined;
    });
    for (const { body } of records.slice(1)) {
      assert.deepEqual([body.kind, body.kind === 'refused' && body.reason], ['refused', 'envelope_malformed']);
    }
  });

  test('no token, signature or argument is in the log', () => {
    const log = at.logged.join('');
    assert.ok(log.includes('tool call refused'));
    assert.doesNotMatch(log, /eyJ|a\.txt/);
  });
});
