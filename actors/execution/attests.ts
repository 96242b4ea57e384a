import { z } from 'zod';
import { ToolSubject } from '../../manifests/tool/call.ts';
import { GrantRequest } from '../../manifests/tool/scope.ts';
import { addressOf } from '../../runtime/address.ts';
import type { ActorClient } from '../../runtime/client.ts';
import type { AttestApi } from './dispatch-api.ts';

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
