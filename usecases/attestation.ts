import { z } from 'zod';
import { ToolSubject } from '../manifests/tool/call.ts';
import { GrantRequest } from '../manifests/tool/scope.ts';
import { addressOf } from '../runtime/address.ts';
import type { ActorClient, CallOptions } from '../runtime/client.ts';

const Attested = z.object({ subject: ToolSubject, grant_request: GrantRequest, expires_at: z.number() });

/** Sends each attestation to the execution's actor as a message. */
export function createAttestApi({ client }: { readonly client: Pick<ActorClient, 'ask'> }): AttestApi {
  return {
    async attest(tenant, { executionId, agentId, containerId, sessionId }, options) {
      const payload = { session_id: sessionId, agent_id: agentId, container_id: containerId };
      return Attested.parse(await client.ask(addressOf('execution', tenant, executionId), 'Attest', payload, options));
    },
  };
}

/** The execution's part of an attestation (G12). */
export interface AttestApi {
  /**
   * Adds the session to the execution, so that it closes when the execution ends. Throws `not_found`,
   * `failed_precondition` when the execution does not run, and `forbidden` for another agent or another container.
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
    /** Latest end of the execution, Unix ms. */
    readonly expires_at: number;
  }>;
}
