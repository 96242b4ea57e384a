import { parseAgentPublicKey } from '../../../../security/api.ts';
import { attestAgent } from '../../../seal/attest-agent.ts';
import type { SealParts } from '../../../seal/parts.ts';
import type { RestApp } from '../../parts.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { AttestAnswer, AttestBody } from '../../schemas/seal.ts';
import { type SealAccess, sealCaller, whileClientWaits } from './caller.ts';

const schema = {
  tags: ['seal'],
  summary: 'Attest an agent: a session and its security token',
  headers: CallerHeaders,
  body: AttestBody,
  response: { 200: AttestAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/seal/attest (spec 2, SEAL). */
export function attestRoute(app: RestApp, parts: SealParts, access: SealAccess): void {
  const config = { access: access.bearer ? ('run' as const) : ('public' as const) };
  app.post('/v1/seal/attest', { config, schema }, async (request, reply) => {
    const { agent_public_key, ...rest } = request.body;
    const caller = await sealCaller(request, access);
    const publicKey = parseAgentPublicKey({ base64: agent_public_key });
    const call = { caller, trace: request.trace, signal: whileClientWaits(reply.raw) };
    return attestAgent(parts, { ...rest, publicKey }, call);
  });
}
