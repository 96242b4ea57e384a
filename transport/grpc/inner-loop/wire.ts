import type { GenerateRequest, GenerateResponse, Message, ToolCall } from '../../../proto/gen/svc/v1/inner_loop.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { type GatewayAnswer, type GatewayRequest, gatewayRequestOf } from '../../../usecases/gateway.ts';
import { JSON_DEPTH } from '../../json-measure.ts';
import { parseJsonBytes } from '../../json-thread.ts';

/** Translates a request and validates it as over REST. Throws `invalid_argument` naming the field. */
export async function gatewayRequest({ request }: GenerateRequest): Promise<GatewayRequest> {
  if (request === undefined) {
    throw new SvcError('invalid_argument', 'request: expected generate or dispatch_result', { field: 'request' });
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

export function wireResponse(answer: GatewayAnswer): GenerateResponse {
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
  if (typeof call !== 'object' || call === null || Array.isArray(call)) return { id: '', name: '', arguments: '' };
  return { id: textOf(call.id), name: textOf(call.name), arguments: textOf(call.arguments) };
}

/** A text unchanged, any other value as JSON. */
function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
