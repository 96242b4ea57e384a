import type { FastifyReply } from 'fastify';
import { answerGateway, GatewayRequest, SHELL_ANSWER, shellAnswer } from '../../effects/agents/bootstrap/api.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { OpenStream, OpenStreams } from '../open-streams.ts';
import type { RestApp } from '../rest/parts.ts';
import { type GatewayCaller, gatewayCaller } from './gateway.ts';
import type { InternalServerParts } from './parts.ts';
import { speakShell, wantsShell } from './shell-form.ts';
import { tokenOf } from './token-path.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose bootstrap calls. */
    gatewayCaller: GatewayCaller | null;
  }
}

const config = { access: 'public' } as const;
const schema = { body: GatewayRequest };

/**
 * POST /v1/dispatch-gateway (spec 2): answers when the loop has a final answer or needs a command run, after minutes if it
 * must. A client that goes away ends the wait alone; the same request again gets the same answer. Every error is
 * `{error: CODE, message}`: those of the table, a model's and its providers' 502, 503 and 429 among them.
 */
export function addDispatchGateway(app: RestApp, parts: InternalServerParts, waits: OpenStreams): void {
  speakShell(app);
  app.decorateRequest('gatewayCaller', null);
  // Before the body is read: nobody without a token makes the node hold a payload.
  app.addHook('onRequest', async (request) => {
    request.gatewayCaller = await gatewayCaller(parts.tokens, tokenOf(request.raw));
  });
  app.post('/v1/dispatch-gateway', { config, schema }, async (request, reply) => {
    if (request.gatewayCaller === null) throw new SvcError('unauthenticated');
    using wait = waits.open();
    endWithClient(reply, wait);
    const options = { trace: request.trace, signal: wait.signal };
    const answer = await answerGateway(parts.dispatch, request.gatewayCaller, request.body, options).catch(
      (thrown: unknown) => {
        if (wait.signal.reason === 'server_closing') throw new SvcError('unavailable', 'The server is closing.');
        throw thrown;
      },
    );
    if (wantsShell(request)) return reply.type(SHELL_ANSWER).send(shellAnswer(answer));
    return answer;
  });
}

function endWithClient(reply: FastifyReply, wait: OpenStream): void {
  reply.raw.once('close', () => wait.stop('client_gone'));
}
