import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SvcError } from '../../../../runtime/errors.ts';
import type { RpcId } from '../../../seal/invoke-tool.ts';
import { rpcError } from '../../../seal/refusals.ts';
import { answerError } from '../../error-handler.ts';
import { fromFramework } from '../../framework-errors.ts';
import { retryAfterSeconds } from '../../problem.ts';

/** A call that failed, with the id its client knows it by. */
export class RpcProblem extends Error {
  override readonly name = 'RpcProblem';
  readonly id: RpcId;
  readonly error: SvcError;

  constructor(id: RpcId, error: SvcError) {
    super(error.message, { cause: error });
    this.id = id;
    this.error = error;
  }
}

/** Whether it is about a body that is no envelope, so that nobody has opened it. */
export const isMalformed = (thrown: unknown): boolean =>
  !(thrown instanceof RpcProblem) && fromFramework(thrown).code === 'invalid_argument';

/**
 * Errors of the invoke routes as JSON-RPC (spec 2, SEAL), a body that is no envelope included. What is refused before it
 * is read, for its bearer, size or type, is answered as everywhere.
 */
export function answerRpcProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (thrown instanceof RpcProblem) return answer(thrown.id, thrown.error, request, reply);
  const error = fromFramework(thrown, request.routeOptions.bodyLimit);
  return error.code === 'invalid_argument' ? answer(null, error, request, reply) : answerError(thrown, request, reply);
}

function answer(id: RpcId, error: SvcError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const line = { code: error.code, reason: error.reason, trace: request.trace };
  if (error.row.kind === 'bug') request.log.error({ ...line, err: error.cause ?? error }, 'tool call failed');
  else request.log.debug({ ...line, text: error.message }, 'tool call refused');
  const retryAfter = retryAfterSeconds(error);
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  return reply
    .code(error.row.http)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(rpcError(id, error));
}
