import type { FastifyReply, FastifyRequest } from 'fastify';
import { duplicateOf } from '../../../../actors/stimulus/api.ts';
import { ERRORS } from '../../../../runtime/errors.ts';
import { answerError } from '../../error-handler.ts';
import { DuplicateProblem } from '../../schemas/stimuli.ts';

const content = { 'application/json': { schema: DuplicateProblem } };

/** The 409 of the two routes that take stimuli. */
export const duplicateSchema = { 409: { description: 'The same delivery was processed within 24 hours.', content } };

/** A duplicate names the first one (decided.md "Status codes"); every other error is answered like everywhere. */
export function answerStimulusError(thrown: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const first = duplicateOf(thrown);
  if (first === null) return answerError(thrown, request, reply);
  return reply
    .code(ERRORS.idempotent_duplicate.http)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send({ error: 'idempotent_duplicate', message: thrown.message, ...first });
}
