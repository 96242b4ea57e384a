import type { Metadata, Server } from '@grpc/grpc-js';
import { SvcRuntimeClient, SvcRuntimeService } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import {
  GenerateRequest,
  GenerateResponse,
  InnerLoopClient,
  InnerLoopService,
  type Message,
  type ToolCall,
} from '../../../proto/gen/svc/v1/inner_loop.ts';
import { invalidField, SvcError } from '../../../runtime/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../runtime/json.ts';
import { bearerToken, type ExecutionTokens } from '../../../security/api.ts';
import {
  answerGateway,
  type DispatchApi,
  type GatewayAnswer,
  type GatewayRequest,
  gatewayRequestOf,
} from '../../../usecases/gateway.ts';
import type { Health } from '../../health.ts';
import { type GatewayCaller, gatewayCaller } from '../../internal/dispatch-gateway.ts';
import { JSON_DEPTH } from '../../json-measure.ts';
import { parseJsonBytes } from '../../json-thread.ts';
import { OpenStreams } from '../../open-streams.ts';
import { isPublic, single } from '../access.ts';
import { atDeadline, traceOfCall } from '../call-context.ts';
import { createEndpoint, type GrpcServer } from '../endpoint.ts';
import { GRPC_LIMITS, type GrpcLimits } from '../limits.ts';
import type { GrpcLogger } from '../parts.ts';
import { decoded, inBytes, type UnaryInBytes, unary } from '../service.ts';

const GENERATE = InnerLoopService.generate.path;

const SEAL: ReadonlySet<string> = new Set([SvcRuntimeService.attestAgent.path, SvcRuntimeService.invokeTool.path]);

/**
 * Creates the gRPC server of the internal address (`spec.network.internal.grpc_port`), which does not listen yet. It
 * serves svc.v1.InnerLoop for the holder of an execution's capability token, and AttestAgent and InvokeTool, which
 * carry their own proofs.
 */
export function createInternalGrpcServer(parts: InternalGrpcParts): GrpcServer {
  const limits: GrpcLimits = { ...GRPC_LIMITS, descriptorShare: 0.05, ...parts.limits };
  const streams = new OpenStreams(limits.streams);
  const callers = new WeakMap<Metadata, GatewayCaller>();
  const { seal, logger, health } = parts;
  return createEndpoint(
    {
      services: [InnerLoopClient.serviceName, ...(seal === undefined ? [] : [SvcRuntimeClient.serviceName])],
      // Runs before the message is read: a caller without a token cannot make the node hold a payload.
      async admit(path, metadata) {
        if (isPublic(path)) return null;
        const token = bearerToken(single(metadata, 'authorization'));
        if (seal !== undefined && SEAL.has(path)) {
          // Checks the token before a large message is read; the method checks again whose it is.
          if (token !== undefined) await gatewayCaller(parts.tokens, token);
          return null;
        }
        if (path !== GENERATE) throw new SvcError('unimplemented', `${path.slice(1)} is not served on this address`);
        callers.set(metadata, await gatewayCaller(parts.tokens, token));
        return null;
      },
      hasCaller: (path, metadata) => !isPublic(path) && bearerToken(single(metadata, 'authorization')) !== undefined,
      messageBytes(path, metadata) {
        const isStranger = bearerToken(single(metadata, 'authorization')) === undefined;
        return SEAL.has(path) && isStranger ? limits.sealBytes : limits.messageBytes;
      },
      logger,
      health,
      limits,
      streams,
    },
    (server) => addMethods(server, parts, callers, streams),
  );
}

function addMethods(
  server: Server,
  parts: InternalGrpcParts,
  callers: WeakMap<Metadata, GatewayCaller>,
  streams: OpenStreams,
): void {
  const callerOf = (metadata: Metadata): GatewayCaller => {
    const caller = callers.get(metadata);
    if (caller === undefined) throw new SvcError('unauthenticated');
    return caller;
  };
  server.addService(
    { generate: inBytes(InnerLoopService.generate) },
    { generate: generate({ ...parts, callerOf, streams }) },
  );
  if (parts.seal === undefined) return;
  server.addService(
    { attestAgent: inBytes(SvcRuntimeService.attestAgent), invokeTool: inBytes(SvcRuntimeService.invokeTool) },
    { attestAgent: parts.seal.attestAgent, invokeTool: parts.seal.invokeTool },
  );
}

interface GenerateParts extends InternalGrpcParts {
  readonly streams: OpenStreams;
  callerOf(metadata: Metadata): GatewayCaller;
}

/**
 * svc.v1.InnerLoop/Generate: one exchange of the dispatch gateway. A client that disconnects ends the wait, not the
 * loop.
 */
const generate = (parts: GenerateParts): UnaryInBytes =>
  unary(parts, async (call) => {
    const caller = parts.callerOf(call.metadata);
    const request = await gatewayRequest(decoded(GenerateRequest, call.request));
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

/** The methods of SvcRuntime that agents call without a bearer token. */
export interface SealMethods {
  readonly attestAgent: UnaryInBytes;
  readonly invokeTool: UnaryInBytes;
}

/** The ports of the gRPC server of the internal address. */
interface InternalGrpcParts {
  readonly dispatch: DispatchApi;
  readonly tokens: ExecutionTokens;
  readonly logger: GrpcLogger;
  readonly health: Health;
  /** Absent: AttestAgent and InvokeTool are not served here. */
  readonly seal?: SealMethods;
  readonly limits?: Partial<GrpcLimits>;
}

/** Translates a request and validates it as over REST. Throws `invalid_argument` naming the field. */
async function gatewayRequest({ request }: GenerateRequest): Promise<GatewayRequest> {
  if (request === undefined) {
    throw invalidField('request', 'expected generate or dispatch_result');
  }
  if (request.$case === 'dispatch_result') return gatewayRequestOf({ type: 'dispatch_result', ...request.value });
  const { messages, ...fields } = request.value;
  const conversation: JsonObject[] = [];
  for (const [index, message] of messages.entries()) conversation.push(await conversationMessage(message, index));
  return gatewayRequestOf({ type: 'generate', ...fields, messages: conversation });
}

async function conversationMessage(message: Message, index: number): Promise<JsonObject> {
  const { role, content, tool_call_id } = message;
  const tool_calls: JsonObject[] = [];
  for (const call of message.tool_calls) tool_calls.push(await toolCall(call, index));
  return {
    role,
    content,
    ...(tool_call_id === '' ? {} : { tool_call_id }),
    ...(tool_calls.length === 0 ? {} : { tool_calls }),
  };
}

async function toolCall({ id, name, arguments: text }: ToolCall, index: number): Promise<JsonObject> {
  const field = `messages.${index}.tool_calls.arguments`;
  const place = { field, what: field, maxDepth: JSON_DEPTH };
  return { id, name, arguments: text === '' ? {} : await parseJsonBytes(Buffer.from(text), place) };
}

function wireResponse(answer: GatewayAnswer): GenerateResponse {
  if (answer.type === 'final') {
    const { type: _type, conversation, ...final } = answer;
    return { response: { $case: 'final', value: { ...final, conversation: conversation.map(wireMessage) } } };
  }
  const { type: _type, args, env_additions, timeout_secs, ...dispatch } = answer;
  const value = {
    ...dispatch,
    args: [...args],
    env_additions: { ...env_additions },
    timeout_secs: Math.ceil(timeout_secs),
  };
  return { response: { $case: 'dispatch', value } };
}

/** Translates a message; drops fields that the wire format does not have. */
function wireMessage(message: JsonObject): Message {
  const calls = message.tool_calls;
  return {
    role: textOf(message.role),
    content: textOf(message.content),
    tool_call_id: textOf(message.tool_call_id),
    tool_calls: Array.isArray(calls) ? calls.map(wireCall) : [],
  };
}

function wireCall(call: Json): ToolCall {
  if (!isJsonObject(call)) return { id: '', name: '', arguments: '' };
  return { id: textOf(call.id), name: textOf(call.name), arguments: textOf(call.arguments) };
}

/** A text unchanged, any other value as JSON. */
function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
