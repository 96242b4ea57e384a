import type { ModelTurn } from './model-server.ts';

/** One wire format: how a turn looks as a stream of server-sent events, and in one piece. */
export interface Wire {
  readonly streams: boolean;
  opening(turn: ModelTurn): string;
  piece(text: string): string;
  closing(turn: ModelTurn): string;
  error(error: { readonly type: string; readonly message: string }): string;
  whole(turn: ModelTurn): object;
}

/** The format of a request, by its path. */
export function wireFor(path: string, body: Readonly<Record<string, unknown>>): Wire {
  if (path.includes('/chat/completions')) return openai(body.stream === true, String(body.model));
  if (path.includes('/messages')) return anthropic(body.stream === true, String(body.model));
  if (path.includes('enerateContent')) return google(path.includes(':streamGenerateContent'));
  throw new Error(`The stand-in knows no format for ${path}.`);
}

const textOf = (turn: ModelTurn): string => (turn.chunks ?? []).join('');
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string }): string => `event: ${value.type}\n${data(value)}`;

function openai(streams: boolean, model: string): Wire {
  const base = { id: 'chatcmpl-1', created: 1_700_000_000, model };
  const chunk = (choices: object[], more: object = {}): string =>
    data({ ...base, object: 'chat.completion.chunk', choices, ...more });
  const delta = (value: object, finish: string | null = null): object => ({
    index: 0,
    delta: value,
    finish_reason: finish,
  });
  const usageOf = (turn: ModelTurn): object | undefined =>
    turn.usage && {
      prompt_tokens: turn.usage.input,
      completion_tokens: turn.usage.output,
      total_tokens: turn.usage.input + turn.usage.output,
    };
  const reasonOf = (turn: ModelTurn): string => (turn.toolCalls?.length ? 'tool_calls' : (turn.finish ?? 'stop'));
  return {
    streams,
    opening: () => chunk([delta({ role: 'assistant', content: '' })]),
    piece: (text) => chunk([delta({ content: text })]),
    closing(turn) {
      const calls = (turn.toolCalls ?? []).map(({ id, name, arguments: args }, index) => {
        const half = Math.floor(args.length / 2);
        const open = { index, id, type: 'function', function: { name, arguments: args.slice(0, half) } };
        return (
          chunk([delta({ tool_calls: [open] })]) +
          chunk([delta({ tool_calls: [{ index, function: { arguments: args.slice(half) } }] })])
        );
      });
      const usage = usageOf(turn);
      const last = usage === undefined ? '' : chunk([], { usage });
      return `${calls.join('')}${chunk([delta({}, reasonOf(turn))])}${last}data: [DONE]\n\n`;
    },
    error: (error) => data({ error: { ...error, param: null, code: null } }),
    whole: (turn) => ({
      ...base,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: reasonOf(turn),
          message: {
            role: 'assistant',
            content: textOf(turn),
            ...(turn.toolCalls && {
              tool_calls: turn.toolCalls.map(({ id, name, arguments: args }) => ({
                id,
                type: 'function',
                function: { name, arguments: args },
              })),
            }),
          },
        },
      ],
      ...(turn.usage && { usage: usageOf(turn) }),
    }),
  };
}

function anthropic(streams: boolean, model: string): Wire {
  const reasonOf = (turn: ModelTurn): string =>
    turn.toolCalls?.length ? 'tool_use' : turn.finish === 'length' ? 'max_tokens' : 'end_turn';
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model };
  const usage = (turn: ModelTurn): object => ({
    input_tokens: turn.usage?.input ?? 0,
    output_tokens: turn.usage?.output ?? 0,
  });
  return {
    streams,
    opening: (turn) =>
      named({
        type: 'message_start',
        ...{ message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage: usage(turn) } },
      }) + named({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
    piece: (text) => named({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } }),
    closing(turn) {
      const calls = (turn.toolCalls ?? []).map(({ id, name, arguments: args }, n) => {
        const index = n + 1;
        const half = Math.floor(args.length / 2);
        const json = (part: string): string =>
          named({ type: 'content_block_delta', ...{ index, delta: { type: 'input_json_delta', partial_json: part } } });
        const start = { index, content_block: { type: 'tool_use', id, name, input: {} } };
        return `${named({ type: 'content_block_start', ...start })}${json(args.slice(0, half))}${json(args.slice(half))}${named({ type: 'content_block_stop', ...{ index } })}`;
      });
      const end = { delta: { stop_reason: reasonOf(turn), stop_sequence: null }, usage: usage(turn) };
      return `${named({ type: 'content_block_stop', ...{ index: 0 } })}${calls.join('')}${named({ type: 'message_delta', ...end })}${named({ type: 'message_stop' })}`;
    },
    error: (error) => named({ type: 'error', ...{ error } }),
    whole: (turn) => ({
      ...message,
      content: [
        { type: 'text', text: textOf(turn) },
        ...(turn.toolCalls ?? []).map(({ id, name, arguments: args }) => ({
          type: 'tool_use',
          id,
          name,
          input: JSON.parse(args),
        })),
      ],
      stop_reason: reasonOf(turn),
      stop_sequence: null,
      usage: usage(turn),
    }),
  };
}

function google(streams: boolean): Wire {
  const part = (parts: object[], more: object = {}): object => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
  });
  const end = (turn: ModelTurn, parts: object[]): object => ({
    ...part(parts, { finishReason: turn.finish === 'length' ? 'MAX_TOKENS' : 'STOP' }),
    ...(turn.usage && {
      usageMetadata: {
        promptTokenCount: turn.usage.input,
        candidatesTokenCount: turn.usage.output,
        totalTokenCount: turn.usage.input + turn.usage.output,
      },
    }),
  });
  const calls = (turn: ModelTurn): object[] =>
    (turn.toolCalls ?? []).map(({ name, arguments: args }) => ({ functionCall: { name, args: JSON.parse(args) } }));
  return {
    streams,
    opening: () => '',
    piece: (text) => data(part([{ text }])),
    closing: (turn) => data(end(turn, calls(turn))),
    error: (error) => data({ error: { code: 500, message: error.message, status: error.type } }),
    whole: (turn) => end(turn, [{ text: textOf(turn) }, ...calls(turn)]),
  };
}
