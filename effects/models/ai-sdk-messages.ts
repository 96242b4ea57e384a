import type { ModelMessage as SdkMessage } from 'ai';
import type { ModelInput, ModelMessage } from './call.ts';
import type { ToolNames } from './tool-names.ts';

/**
 * The conversation in the SDK's words. System messages at the beginning join `system`: some providers accept them
 * nowhere else.
 */
export function toSdkMessages(input: ModelInput, names: ToolNames): { system?: string; messages: SdkMessage[] } {
  const first = input.messages.findIndex((message) => message.role !== 'system');
  const leading = first === -1 ? input.messages : input.messages.slice(0, first);
  const system = [input.system ?? '', ...leading.map((message) => message.content)].filter((text) => text !== '');
  return {
    ...(system.length === 0 ? {} : { system: system.join('\n\n') }),
    messages: first === -1 ? [] : input.messages.slice(first).map((message) => toSdkMessage(message, names)),
  };
}

function toSdkMessage(message: ModelMessage, names: ToolNames): SdkMessage {
  if (message.role === 'tool') {
    const { tool_call_id: toolCallId, tool_name: name, content } = message;
    const output = { type: 'text' as const, value: content };
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: names.toWire(name), output }] };
  }
  if (message.role !== 'assistant' || message.tool_calls === undefined || message.tool_calls.length === 0) {
    return { role: message.role, content: message.content };
  }
  const calls = message.tool_calls.map((call) => ({
    type: 'tool-call' as const,
    toolCallId: call.id,
    toolName: names.toWire(call.name),
    input: call.arguments,
  }));
  const text = message.content === '' ? [] : [{ type: 'text' as const, text: message.content }];
  return { role: 'assistant', content: [...text, ...calls] };
}
