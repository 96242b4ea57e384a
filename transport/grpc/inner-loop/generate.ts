import type { Metadata } from '@grpc/grpc-js';
import { answerGateway } from '../../../effects/agents/bootstrap/api.ts';
import { GenerateRequest, GenerateResponse } from '../../../proto/gen/svc/v1/inner_loop.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { GatewayCaller } from '../../internal/gateway.ts';
import type { OpenStreams } from '../../open-streams.ts';
import { traceOfCall } from '../call-context.ts';
import { atDeadline } from '../deadline.ts';
import { decoded, type UnaryInBytes } from '../service.ts';
import { unary } from '../unary.ts';
import type { InternalGrpcParts } from './parts.ts';
import { gatewayRequest, wireResponse } from './wire.ts';

export interface GenerateParts extends InternalGrpcParts {
  readonly streams: OpenStreams;
  callerOf(metadata: Metadata): GatewayCaller;
}

/** svc.v1.InnerLoop/Generate: one exchange of the dispatch gateway. A client that goes away ends the wait, not the loop. */
export const generate = (parts: GenerateParts): UnaryInBytes =>
  unary(parts, async (call) => {
    const caller = parts.callerOf(call.metadata);
    const request = gatewayRequest(decoded(GenerateRequest, call.request));
    using wait = parts.streams.open();
    call.once('cancelled', () => wait.stop('client_gone'));
    const forget = atDeadline(call.getDeadline(), () => wait.stop('client_gone'));
    try {
      const options = { trace: traceOfCall(call.metadata), signal: wait.signal };
      const answer = await answerGateway(parts.dispatch, caller, request, options);
      return GenerateResponse.encode(wireResponse(answer)).finish();
    } catch (thrown) {
      if (wait.signal.reason === 'server_closing') throw new SvcError('unavailable', 'The server is closing.');
      throw thrown;
    } finally {
      forget();
    }
  });
