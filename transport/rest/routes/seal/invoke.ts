import type { FastifyReply, FastifyRequest } from 'fastify';
import { payloadBytes } from '../../../../security/api.ts';
import { invokeTool, noteMalformed } from '../../../seal/invoke-tool.ts';
import type { SealParts } from '../../../seal/parts.ts';
import type { RestApp } from '../../parts.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { EnvelopeBody, InvokeResponse, rpcProblemSchemas } from '../../schemas/seal.ts';
import { type SealAccess, sealCaller, whileClientWaits } from './caller.ts';
import { answerRpcProblem, isMalformed, RpcProblem } from './rpc-problem.ts';

const schema = {
  tags: ['seal'],
  summary: 'Call a tool with a signed envelope',
  description: 'The same id with the same payload again is answered from the record; the tool is not run twice.',
  headers: CallerHeaders,
  body: EnvelopeBody,
  response: { 200: InvokeResponse, ...rpcProblemSchemas({ hasBody: true, also: [422] }) },
};

/** POST /v1/seal/invoke and its alias POST /v1/invoke (spec 2, SEAL). */
export function invokeRoute(app: RestApp, parts: SealParts, access: SealAccess): void {
  const config = { access: access.bearer ? ('run' as const) : ('public' as const) };
  const errorHandler = async (thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    if (isMalformed(thrown)) await noteMalformed(parts, request.body);
    return answerRpcProblem(thrown, request, reply);
  };
  for (const url of ['/v1/seal/invoke', '/v1/invoke']) {
    app.post(url, { config, schema, errorHandler }, async (request, reply) => {
      const { payload, ...envelope } = request.body;
      const caller = await sealCaller(request, access);
      const call = { caller, trace: request.trace, signal: whileClientWaits(reply.raw) };
      const invoked = await invokeTool(parts, { ...envelope, payload: payloadBytes(payload) }, call);
      if (!invoked.ok) throw new RpcProblem(invoked.id, invoked.error);
      const { result, ...rest } = invoked.response;
      return { ...rest, result: { ...result, content: [...result.content] } };
    });
  }
}
