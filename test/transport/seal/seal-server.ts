import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { toolSessionActor } from '../../../actors/tool-session/definition.ts';
import { TOOL_SESSIONS, type ToolSessionDocument } from '../../../actors/tool-session/view.ts';
import { type ToolOutcome, ToolRun } from '../../../manifests/tool/call.ts';
import type { GrantRequest, ToolGrant } from '../../../manifests/tool/scope.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { defineEffect, type EffectContext } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import type { Authenticator } from '../../../security/api.ts';
import { createAuthenticator } from '../../../security/authenticator.ts';
import { createFileKeys } from '../../../security/keys/file-keys.ts';
import { createPublishedKeys } from '../../../security/keys/published-keys.ts';
import { commandCeilings } from '../../../security/policy/matching.ts';
import { createToolPolicy } from '../../../security/policy/policy.ts';
import { createAgentTokens } from '../../../security/seal/agent-tokens.ts';
import { createAuditSigner, createSealEnvelopes } from '../../../security/seal/envelopes.ts';
import { BUILT_IN, TOOL_CONTRACTS } from '../../../tools/contracts.ts';
import { builtInOffer } from '../../../tools/tool-granter.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import { createRestServer } from '../../../transport/rest/server.ts';
import type { AttestApi } from '../../../usecases/attestation.ts';
import type { SealParts } from '../../../usecases/seal/parts.ts';
import { createToolSessionApi } from '../../../usecases/tool-sessions.ts';
import { privateDirectory } from '../../security/key-fleet.ts';
import { startKernelNode } from '../../support/kernel-node.ts';
import { FakeCatalog } from '../rest/fake-catalog.ts';
import { FakeExecutions } from '../rest/fake-executions.ts';

export const AGENT = 'a0000000-0000-4000-8000-00000000000a';

/** The fields of an execution that attestation reads. */
export interface Running {
  readonly executionId: string;
  readonly tenant: string;
  readonly status: 'running' | 'completed';
  readonly sessions: string[];
}

/** Executions for attestation: isolation `process`, all of one agent. */
class Executions implements AttestApi {
  readonly known = new Map<string, Running>();

  start(tenant: string, status: Running['status'] = 'running'): Running {
    const running = { executionId: randomUUID(), tenant, status, sessions: [] };
    this.known.set(`${tenant}/${running.executionId}`, running);
    return running;
  }

  async attest(tenant: string, request: Parameters<AttestApi['attest']>[1]): ReturnType<AttestApi['attest']> {
    const { executionId, agentId, containerId, sessionId } = request;
    const found = this.known.get(`${tenant}/${executionId}`);
    if (found === undefined) throw new SvcError('not_found', `no ${executionId}`);
    if (found.status !== 'running') throw new SvcError('failed_precondition', `it is ${found.status}`);
    if (agentId !== AGENT || containerId !== executionId) throw new SvcError('forbidden', 'not of this one');
    found.sessions.push(sessionId);
    return {
      subject: {
        execution_id: executionId,
        agent_id: agentId,
        session_id: sessionId,
        principal: { kind: 'operator', subject: 'ada', roles: [], tier: 'free' },
        mounts: [],
        isolation: 'process',
      },
      grant_request: { manifest: [], network: null, filesystem: null },
      expires_at: Date.now() + 600_000,
    };
  }
}

const OFFERED = ['fs.read', 'fs.write', 'fs.grep', 'cmd.run', 'web.fetch'];
const entry = (name: string) => ({ name, config: {} });

/** As `tools/` does: the real offers, under a context whose limits can cause every kind of denial. */
const grant: ToolGrant = {
  security_context: 'test',
  deny_list: ['fs.delete'],
  capabilities: [
    { tool_pattern: 'fs.*', path_allowlist: ['/workspace/**'] },
    { tool_pattern: 'web.*', domain_allowlist: ['example.com'] },
    { tool_pattern: 'cmd.run', command_allowlist: ['git'], subcommand_allowlist: { git: ['status'] } },
  ],
  manifest: [
    entry('fs.*'),
    entry('web.fetch'),
    { name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { git: ['status'] } } },
  ],
  network: null,
  filesystem: null,
  tools: BUILT_IN.filter(({ name }) => OFFERED.includes(name)).map(builtInOffer),
};

export type Answers = (run: ToolRun, context: EffectContext) => Promise<ToolOutcome>;

export const said = (text: string, more: Partial<ToolOutcome> = {}): ToolOutcome => ({
  content: [{ type: 'text', text }],
  is_error: false,
  duration_ms: 1,
  ...more,
});

/**
 * SEAL on real sockets with the real kernel, tool sessions, policy, tokens and envelopes. The test sets what a tool
 * does; runs are counted.
 */
export async function sealServer(options: { readonly authenticator?: Authenticator } = {}) {
  const directory = await privateDirectory();
  const blobs = new FileBlobs({ directory: join(directory.path, 'blobs') });
  await blobs.open();
  const runs: ToolRun[] = [];
  const told: { answer: Answers } = { answer: async ({ tool }) => said(`${tool} done`) };
  const handler = defineEffect({
    kind: 'tool.call',
    input: ToolRun,
    run: async (run, context) => {
      runs.push(run);
      return told.answer(run, context);
    },
  });
  const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });
  const kernel = await startKernelNode({ definitions: [toolSessionActor({ policy })], handlers: [handler] });
  const keys = createFileKeys({ directory: join(directory.path, 'keys'), rotateAfterDays: 90, clock: systemClock });
  await keys.open();
  const published = createPublishedKeys({ documents: kernel.documents, clock: systemClock });
  const settings = { issuer: 'svc-orchestrator', audiences: ['svc-agents'], token_ttl_seconds: 3_600 };
  const tokens = createAgentTokens({ keys, published, clock: systemClock, settings });
  const executions = new Executions();
  const sessions = createToolSessionApi({
    client: kernel.runtime.client,
    sessions: await kernel.documents.collection<ToolSessionDocument>(TOOL_SESSIONS),
    blobs,
  });
  const seal: SealParts = {
    attestation: executions,
    granter: { grant: async (_tenant: string, _request: GrantRequest) => grant },
    sessions,
    tokens,
    envelopes: createSealEnvelopes({ tokens, clock: systemClock }),
    signer: createAuditSigner({ keys, published, clock: systemClock }),
  };
  const logged: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });
  const shared = {
    agents: new FakeCatalog(),
    executions: new FakeExecutions(),
    authenticator: options.authenticator ?? createAuthenticator({ realms: [] }),
    logger,
    version: '0.0.1-test',
    health: { ready: async () => ({ ready: true as const }) },
    seal,
  };
  const rest = createRestServer({ ...shared, limits: { closeGraceMs: 500 } });
  await rest.listen({ port: 0, host: '127.0.0.1' });
  const { port } = rest.server.address() as AddressInfo;
  const grpc = createGrpcServer({
    ...shared,
    auth: { enabled: true, exempt_methods: [] },
    limits: { closeGraceMs: 500 },
  });
  const grpcAddress = await grpc.listen('127.0.0.1', 0);
  return {
    kernel,
    seal,
    tokens,
    signing: { keys, published, clock: systemClock, settings },
    keys,
    sessions,
    executions,
    blobs,
    runs,
    told,
    logged,
    restUrl: `http://127.0.0.1:${port}`,
    grpcAddress,
    start: (status: Running['status'] = 'running', tenant = SYSTEM_TENANT) => executions.start(tenant, status),
    async [Symbol.asyncDispose]() {
      await rest.close();
      await grpc.close();
      await kernel.stop();
      await keys.close();
      await blobs.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}
export type SealServer = Awaited<ReturnType<typeof sealServer>>;
