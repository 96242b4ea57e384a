import { z } from 'zod';
import { ToolSubject } from '../manifests/tool/call.ts';
import { GrantRequest } from '../manifests/tool/scope.ts';
import { addressOf } from '../runtime/address.ts';
import type { ActorClient, CallOptions } from '../runtime/client.ts';

const Attested = z.object({ subject: ToolSubject, grant_request: GrantRequest, expires_at: z.number() });

/** Attestation, asked of the execution itself. */
export function createAttestApi({ client }: { readonly client: Pick<ActorClient, 'ask'> }): AttestApi {
  return {
    async attest(tenant, { executionId, agentId, containerId, sessionId }, options) {
      const payload = { session_id: sessionId, agent_id: agentId, container_id: containerId };
      return Attested.parse(await client.ask(addressOf('execution', tenant, executionId), 'Attest', payload, options));
    },
  };
}

/** Attestation as far as the execution knows (G12). */
export interface AttestApi {
  /**
   * Notes the session, so that it closes with the execution. Throws `not_found`, `failed_precondition` (not running),
   * `forbidden` (another agent's, another container).
   */
  attest(
    tenant: string,
    request: {
      readonly executionId: string;
      readonly agentId: string;
      readonly containerId: string;
      readonly sessionId: string;
    },
    options?: CallOptions,
  ): Promise<{
    readonly subject: ToolSubject;
    readonly grant_request: GrantRequest;
    /** When the execution ends at the latest, Unix ms. */
    readonly expires_at: number;
  }>;
}
