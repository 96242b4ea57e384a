import { type KeyObject, randomUUID } from 'node:crypto';
import { jose } from '../../manifests/late-libraries.ts';
import { type ErrorCode, invalidField, SvcError } from '../../runtime/errors.ts';
import { UUID } from '../../runtime/random.ts';
import { publicKeyText } from '../../security/api.ts';
import type { SealCall, SealParts } from './parts.ts';

interface AttestRequest {
  readonly agent_id: string;
  readonly execution_id: string;
  readonly container_id: string;
  readonly publicKey: KeyObject;
}

interface Attestation {
  /** The session's token, a JWT. */
  readonly security_token: string;
  readonly session_id: string;
  /** The token's expiry, ISO 8601. */
  readonly expires_at: string;
}

/** One text for each class of errors: a caller must not learn what runs elsewhere or to which tenant it belongs. */
const TEXTS: ReadonlyMap<ErrorCode, string> = new Map<ErrorCode, string>([
  ['not_found', 'execution_id: no such execution in this tenant'],
  ['failed_precondition', 'execution_id: the execution is not running'],
  ['limit_reached', 'execution_id: the execution has the maximum of sessions'],
  ['forbidden', 'the execution is not of this agent, or container_id is not the container that was started for it'],
]);

const MAX_CONTAINER_ID_CHARS = 128;

/**
 * Attests an agent with its first call (G12): checks its claims against its execution, opens a session with the tools
 * that it may use, and signs a token for its key. Throws `invalid_argument` naming the field, `not_found`,
 * `failed_precondition`, `limit_reached`, `forbidden`.
 */
export async function attestAgent(parts: SealParts, request: AttestRequest, call: SealCall): Promise<Attestation> {
  const { agent_id, execution_id, container_id, publicKey } = checked(request);
  if (call.caller === null) throw new SvcError('unauthenticated', 'the token of the execution is needed to attest');
  const { tenant, identity, executionId = execution_id } = call.caller;
  if (executionId !== execution_id) {
    throw new SvcError('forbidden', 'execution_id: expected the execution that the token was given to');
  }
  const sessionId = randomUUID();
  const options = { trace: call.trace, signal: call.signal };
  const { subject, grant_request, expires_at } = await attested(
    parts.attestation.attest(
      tenant,
      { executionId: execution_id, agentId: agent_id, containerId: container_id, sessionId },
      { ...options, identity },
    ),
  );
  const grant = await granted(parts.granter.grant(tenant, grant_request));
  const token = await parts.tokens.issue({
    agentId: agent_id,
    executionId: execution_id,
    tenant,
    sessionId,
    workloadId: container_id,
    securityContext: grant.security_context,
    publicKey,
    expiresAt: expires_at,
  });
  const expiresAt = endOf(token);
  // Fails when the execution has ended meanwhile: it then closed the session before this call could open it.
  await attested(
    parts.sessions.open(
      tenant,
      {
        session_id: sessionId,
        source: 'seal',
        subject: { ...subject, session_id: sessionId },
        grant,
        public_key: publicKeyText(publicKey),
        expires_at: expiresAt,
      },
      options,
    ),
  );
  return { security_token: token, session_id: sessionId, expires_at: expiresAt };
}

function checked(request: AttestRequest): AttestRequest {
  const { agent_id, execution_id, container_id } = request;
  const [agentId, executionId] = [uuid(agent_id, 'agent_id'), uuid(execution_id, 'execution_id')];
  if (container_id === '' || container_id.length > MAX_CONTAINER_ID_CHARS) {
    const expected = `the id of the container, or the execution id where there is none, of 1 to ${MAX_CONTAINER_ID_CHARS} characters`;
    throw invalidField('container_id', `expected ${expected}`);
  }
  return { ...request, agent_id: agentId, execution_id: executionId };
}

function uuid(text: string, field: string): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw invalidField(field, 'expected a UUID');
}

async function attested<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (thrown) {
    const text = thrown instanceof SvcError ? TEXTS.get(thrown.code) : undefined;
    if (!(thrown instanceof SvcError) || text === undefined) throw thrown;
    throw new SvcError(thrown.code, text, { cause: thrown });
  }
}

/** A security context that is not configured must not look like a missing execution. */
async function granted<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'not_found') throw thrown;
    throw new SvcError('failed_precondition', thrown.message, { cause: thrown });
  }
}

function endOf(token: string): string {
  const { exp } = jose().decodeJwt(token);
  if (exp === undefined) throw new SvcError('internal', 'a token of an agent has no expiry');
  return new Date(exp * 1_000).toISOString();
}
