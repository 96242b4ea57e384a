import { randomUUID, sign } from 'node:crypto';
import { createAgentTokens, createExecutionTokens } from '../../../security/seal/agent-tokens.ts';
import type { AgentClaims, SealEnvelope } from '../../../security/seal/api.ts';
import { createAuditSigner, createSealEnvelopes } from '../../../security/seal/envelopes.ts';
import { fleet, HOUR_MS, nodePair } from '../key-fleet.ts';

export const SETTINGS = { issuer: 'svc-orchestrator', audiences: ['svc-agents'], token_ttl_seconds: 3_600 };

/** A node with its keys, an agent with its own, and the agent's token. */
export async function attestedAgent(settings = SETTINGS) {
  const at = await fleet();
  const controller = at.controller();
  const parts = { keys: controller.keys, published: controller.published, clock: at.clock, settings };
  const tokens = createAgentTokens(parts);
  const pair = nodePair();
  const claims = (changed: Partial<AgentClaims> = {}): AgentClaims => ({
    agentId: randomUUID(),
    executionId: randomUUID(),
    tenant: 'acme',
    sessionId: randomUUID(),
    workloadId: 'container-1',
    securityContext: 'svc-system-agent-runtime',
    publicKey: pair.publicKey,
    expiresAt: at.clock.now() + HOUR_MS,
    ...changed,
  });
  const token = await tokens.issue(claims());
  const envelope = (payload: object | Buffer = callOf(1), changed: Partial<SealEnvelope> = {}): SealEnvelope => {
    const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(JSON.stringify(payload));
    return {
      protocol: 'seal/v1',
      security_token: token,
      signature: sign(null, bytes, pair.privateKey).toString('base64'),
      payload: bytes,
      timestamp: new Date(at.clock.now()).toISOString(),
      ...changed,
    };
  };
  return {
    ...at,
    ...controller,
    nodeTokens: controller.tokens,
    parts,
    pair,
    claims,
    agentTokens: tokens,
    executionTokens: createExecutionTokens(parts),
    auditSigner: createAuditSigner(parts),
    token,
    envelope,
    envelopes: createSealEnvelopes({ tokens, clock: at.clock }),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

/** A JSON-RPC request of one tool call. */
export const callOf = (id: unknown, changed: object = {}): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'fs.read', arguments: { path: 'a.txt' } },
  ...changed,
});
