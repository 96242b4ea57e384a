import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SvcError } from '../../../../runtime/errors.ts';
import type { ExecutionTokens } from '../../../../security/api.ts';
import { gatewayCaller } from '../../../internal/gateway.ts';
import { tokenOf } from '../../../internal/token-path.ts';
import { requireToken } from '../../../seal/invoke-tool.ts';
import type { SealParts } from '../../../seal/parts.ts';
import { textMember } from '../../../seal/token-of-body.ts';
import { jsonOf, refuseEncoded } from '../../body-parsers.ts';
import type { RestLimits } from '../../limits.ts';
import { RpcProblem } from './rpc-problem.ts';

interface StrangerParts {
  readonly seal: Pick<SealParts, 'envelopes' | 'sessions'>;
  readonly executions: ExecutionTokens;
  readonly limits: Pick<RestLimits, 'strangerBytes' | 'sealBytes' | 'jsonDepth'>;
}

/**
 * Envelopes of callers without a bearer, on the routes of `app`: at most 1 MiB, and of more than a stranger may send the
 * security token is checked before anything is parsed. The capability token of an execution lifts both, once it was checked.
 */
export function boundStrangers(app: FastifyInstance, { seal, executions, limits }: StrangerParts): void {
  const known = new WeakSet<IncomingMessage>();
  app.addHook('onRequest', async ({ raw }) => {
    const token = tokenOf(raw);
    if (token === undefined) return;
    await gatewayCaller(executions, token);
    known.add(raw);
  });
  app.addHook('preParsing', async (request, _reply, payload) => {
    if (known.has(request.raw)) return payload;
    if (Number(request.headers['content-length'] ?? 0) > limits.sealBytes) throw tooLarge(limits.sealBytes);
    return payload.pipe(atMost(limits.sealBytes));
  });
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    refuseEncoded(request);
    if (!known.has(request.raw) && body.length > limits.strangerBytes) await checkToken(seal, body);
    return jsonOf(body, limits.jsonDepth);
  });
}

async function checkToken(seal: StrangerParts['seal'], body: Buffer): Promise<void> {
  const text = (member: string): string => textMember(body, member) ?? '';
  try {
    await requireToken(seal, {
      protocol: text('protocol'),
      security_token: text('security_token'),
      signature: text('signature'),
      timestamp: text('timestamp'),
    });
  } catch (thrown) {
    throw thrown instanceof SvcError ? new RpcProblem(null, thrown) : thrown;
  }
}

/** Ends with an error behind so many bytes. */
function atMost(most: number): Transform & { receivedEncodedLength: number } {
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      stream.receivedEncodedLength += chunk.length;
      if (stream.receivedEncodedLength > most) done(tooLarge(most));
      else done(null, chunk);
    },
  });
  const stream = Object.assign(counted, { receivedEncodedLength: 0 });
  return stream;
}

const tooLarge = (most: number): SvcError =>
  new SvcError('payload_too_large', `the body is larger than ${most} bytes without a bearer token`, { field: 'body' });
