import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../../runtime/errors.ts';
import { bearerToken, type ExecutionTokens, parseAgentPublicKey, payloadBytes } from '../../../security/api.ts';
import { CallerHeaders, pageAsked } from '../../../usecases/operations/schemas/fields.ts';
import { attestAgent } from '../../../usecases/seal/attest-agent.ts';
import {
  invokeTool,
  listedTools,
  noteMalformed,
  type RpcId,
  requireToken,
} from '../../../usecases/seal/invoke-tool.ts';
import { rpcError, type SealCaller, type SealParts } from '../../../usecases/seal/parts.ts';
import { gatewayCaller, tokenOf } from '../../internal/dispatch-gateway.ts';
import { textMember } from '../../json-measure.ts';
import { REST_LIMITS, type RestLimits } from '../limits.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { answerError, fromFramework, retryAfterSeconds } from '../problem.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import {
  AttestAnswer,
  AttestBody,
  AuditAnswer,
  EnvelopeBody,
  InvokeResponse,
  MOST_SESSIONS,
  RevokeAnswer,
  rpcProblemSchemas,
  SessionList,
  SessionParams,
  SessionQuery,
  SessionSummary,
  ToolsAnswer,
} from '../schemas/seal.ts';
import { jsonOf, refuseEncoded } from '../signed-body.ts';

const attestSchema = {
  operationId: 'seal.attest',
  tags: ['seal'],
  summary: 'Attest an agent: a session and its security token',
  headers: CallerHeaders,
  body: AttestBody,
  response: { 200: AttestAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/seal/attest (H16). */
function attestRoute(app: RestApp, parts: SealParts, access: SealAccess): void {
  const config = { access: access.bearer ? ('run' as const) : ('public' as const) };
  app.post('/v1/seal/attest', { config, schema: attestSchema }, async (request, reply) => {
    const { agent_public_key, ...rest } = request.body;
    const caller = await sealCaller(request, access);
    const publicKey = parseAgentPublicKey({ base64: agent_public_key });
    const call = { caller, trace: request.trace, signal: whileClientWaits(reply.raw) };
    return attestAgent(parts, { ...rest, publicKey }, call);
  });
}

const invokeSchema = {
  tags: ['seal'],
  summary: 'Call a tool with a signed envelope',
  description: 'The same id with the same payload again is answered from the record; the tool is not run twice.',
  headers: CallerHeaders,
  body: EnvelopeBody,
  response: { 200: InvokeResponse, ...rpcProblemSchemas({ hasBody: true, also: [422] }) },
};

/** POST /v1/seal/invoke and its alias POST /v1/invoke (H16). */
function invokeRoute(app: RestApp, parts: SealParts, access: SealAccess): void {
  const config = { access: access.bearer ? ('run' as const) : ('public' as const) };
  const errorHandler = async (thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    if (isMalformed(thrown)) await noteMalformed(parts, request.body);
    return answerRpcProblem(thrown, request, reply);
  };
  const urls = { 'seal.invoke': '/v1/seal/invoke', 'seal.invoke_alias': '/v1/invoke' };
  for (const [operationId, url] of Object.entries(urls)) {
    app.post(url, { config, schema: { ...invokeSchema, operationId }, errorHandler }, async (request, reply) => {
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

const listToolsSchema = {
  operationId: 'seal.list_tools',
  tags: ['seal'],
  summary: 'List the tools of an attested agent’s session',
  description: 'The bearer is the security token of the session, not one of an identity provider.',
  response: { 200: ToolsAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/seal/tools for an agent with its own token; the same on every address. */
function listToolsRoute(app: RestApp, parts: SealParts): void {
  app.get('/v1/seal/tools', { config: { access: 'public' }, schema: listToolsSchema }, async (request) => {
    const { tool, tools, total } = await listedTools(parts, bearerToken(request.headers.authorization));
    return { tool, tools: [...tools], total };
  });
}

const shared = { tags: ['seal'], headers: CallerHeaders };

const ofOne = { ...shared, params: SessionParams };

const problems = problemSchemas({ style: 'coded', also: [404] });

/** GET /v1/seal/sessions, newest first. */
function listSessionsRoute(app: RestApp, { sessions }: SealParts): void {
  const schema = {
    ...shared,
    operationId: 'seal_sessions.list',
    summary: 'List sessions in which tools were called, newest first',
    querystring: SessionQuery,
    response: { 200: SessionList, ...problemSchemas({ style: 'coded' }) },
  };
  app.get('/v1/seal/sessions', { config: { access: 'read' }, schema }, async (request) => {
    const { execution_id, ...page } = request.query;
    const { items, ...next } = await sessions.list(callerOf(request), {
      executionId: execution_id,
      ...pageAsked(page, MOST_SESSIONS),
    });
    return { sessions: items, count: items.length, ...next };
  });
}

/** GET /v1/seal/sessions/{id}. */
function getSessionRoute(app: RestApp, { sessions }: SealParts): void {
  const schema = {
    ...ofOne,
    operationId: 'seal_sessions.get',
    summary: 'Show a session',
    response: { 200: SessionSummary, ...problems },
  };
  app.get('/v1/seal/sessions/:id', { config: { access: 'read' }, schema }, async (request) =>
    sessions.get(callerOf(request), request.params.id),
  );
}

/** POST /v1/seal/sessions/{id}/revoke: takes effect at once, on every node. */
function revokeSessionRoute(app: RestApp, { sessions }: SealParts): void {
  const schema = {
    ...ofOne,
    operationId: 'seal_sessions.revoke',
    summary: 'Revoke a session: nothing more is called in it',
    response: { 200: RevokeAnswer, ...problemSchemas({ style: 'coded', also: [404, 409] }) },
  };
  app.post('/v1/seal/sessions/:id/revoke', { config: { access: 'write' }, schema }, async (request) => {
    const identity = callerOf(request);
    const { id } = request.params;
    await sessions.revoke(identity, id);
    const { status } = await sessions.get(identity, id);
    return { session_id: id, status: status === 'closed' ? ('closed' as const) : ('revoked' as const) };
  });
}

/** GET /v1/seal/sessions/{id}/audit: the audit chain and its signed head, for `svc audit verify`. */
function auditSessionRoute(app: RestApp, { sessions, signer }: SealParts): void {
  const schema = {
    ...ofOne,
    operationId: 'seal_sessions.audit',
    summary: 'Export the audit chain of a session',
    response: { 200: AuditAnswer, ...problems },
  };
  app.get('/v1/seal/sessions/:id/audit', { config: { access: 'read' }, schema }, async (request) => {
    const caller = callerOf(request);
    const { tenant } = caller;
    const session_id = request.params.id;
    const records = await sessions.audit(caller, session_id);
    const last = records.at(-1);
    if (last === undefined) throw new SvcError('internal', 'a session has no record');
    const head = await signer.sign({ session_id, tenant, sequence: last.sequence, hash: last.hash });
    return { format: 'svc-audit/v1' as const, session_id, tenant, records: [...records], head };
  });
}

const FOR_PEOPLE = [listSessionsRoute, getSessionRoute, revokeSessionRoute, auditSessionRoute];

/** Adds the routes of agents, on the public or the internal address. */
export function addSealRoutes(app: RestApp, parts: SealParts, access: SealAccess): void {
  attestRoute(app, parts, access);
  if (access.bearer) invokeRoute(app, parts, access);
  else {
    app.register((scope: RestApp, _options, done) => {
      boundStrangers(scope, { seal: parts, executions: access.tokens, limits: REST_LIMITS });
      invokeRoute(scope, parts, access);
      done();
    });
  }
  listToolsRoute(app, parts);
}

/** Adds /v1/seal and /v1/invoke to the public address, on nodes with SEAL. */
export function sealRoutes(app: RestApp, { seal }: RestParts): void {
  if (seal === undefined) return;
  addSealRoutes(app, seal, { bearer: true });
  for (const route of FOR_PEOPLE) route(app, seal);
}

interface StrangerParts {
  readonly seal: Pick<SealParts, 'envelopes' | 'sessions'>;
  readonly executions: ExecutionTokens;
  readonly limits: Pick<RestLimits, 'strangerBytes' | 'sealBytes' | 'jsonDepth'>;
}

/**
 * Limits the envelopes of callers without a bearer token on the routes of `app`: at most `sealBytes`, and above
 * `strangerBytes` the security token is checked before anything is parsed. A verified capability token of an execution
 * lifts both limits.
 */
function boundStrangers(app: FastifyInstance, { seal, executions, limits }: StrangerParts): void {
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

/** A stream that fails after more than `most` bytes. */
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

/** How the SEAL routes are reached: with a bearer token like every route, or on the internal address (S5). */
type SealAccess =
  | { readonly bearer: true }
  /** An agent has no bearer token. The capability token of its execution, if sent, names the execution. */
  | { readonly bearer: false; readonly tokens: ExecutionTokens };

async function sealCaller(request: FastifyRequest, access: SealAccess): Promise<SealCaller | null> {
  if (access.bearer) {
    const identity = callerOf(request);
    return { tenant: identity.tenant, identity, verified: identity.kind !== 'local' };
  }
  const token = tokenOf(request.raw);
  if (token === undefined) return null;
  return { ...(await gatewayCaller(access.tokens, token)), verified: true };
}

/** A signal that aborts when the client disconnects before its answer. The work itself continues. */
export function whileClientWaits(reply: FastifyReply['raw']): AbortSignal {
  const gone = new AbortController();
  reply.once('close', () => {
    if (!reply.writableFinished) gone.abort(new SvcError('cancelled', 'the client is gone'));
  });
  return gone.signal;
}

/** The error of a failed call, with the JSON-RPC id of the client. */
class RpcProblem extends Error {
  override readonly name = 'RpcProblem';
  readonly id: RpcId;
  readonly error: SvcError;

  constructor(id: RpcId, error: SvcError) {
    super(error.message, { cause: error });
    this.id = id;
    this.error = error;
  }
}

/** Whether the error is about a body that is not an envelope, which no audit chain has recorded yet. */
const isMalformed = (thrown: unknown): boolean =>
  !(thrown instanceof RpcProblem) && fromFramework(thrown).code === 'invalid_argument';

/**
 * Answers errors of the invoke routes as JSON-RPC errors (H16), also for a body that is not an envelope. A request that
 * is refused before its body is read, for its bearer token, size or type, gets the error body of all other routes.
 */
function answerRpcProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
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
