/** One kind of span, for documentation. */
interface SpanRow {
  readonly span: string;
  readonly name: string;
  readonly otelKind: 'CONSUMER' | 'INTERNAL' | 'CLIENT';
  readonly what: string;
}

/** THE table of spans. docs/reference/opentelemetry.md shows it and that of attributes; a test compares them. */
export const SPANS: readonly SpanRow[] = [
  {
    span: 'delivery',
    name: '`KIND TYPE` of the actor and the message, such as `execution Start`',
    otelKind: 'CONSUMER',
    what: 'The turn that handled a message, after its commit. Begins with the turn, not with the wait before it.',
  },
  {
    span: 'effect',
    name: '`effect KIND`, such as `effect model.generate`',
    otelKind: 'INTERNAL',
    what: 'One attempt of an effect, from its claim to its result.',
  },
  {
    span: 'model call',
    name: '`chat MODEL`',
    otelKind: 'CLIENT',
    what: 'A call of one model, with its retries. A fallback is a call of its own.',
  },
  {
    span: 'tool call',
    name: '`execute_tool TOOL`',
    otelKind: 'INTERNAL',
    what: 'One call of a tool: of the node, of an MCP server, or of the web. `CLIENT` for those of MCP servers.',
  },
];

/** What each attribute of a span says. No attribute holds a payload, an argument, a result or the text of an error. */
export const ATTRIBUTES = {
  'error.type': 'Code of the error; of a delivery that failed: `retried` or `dead_lettered`.',
  'gen_ai.operation.name': '`chat` or `execute_tool`.',
  'gen_ai.provider.name': 'Provider of a model by the conventions, such as `openai` or `anthropic`; else its type.',
  'gen_ai.request.model': 'The model that was asked.',
  'gen_ai.response.finish_reasons': 'Why the model stopped.',
  'gen_ai.tool.name': 'The tool.',
  'gen_ai.usage.input_tokens': 'Tokens of the request; absent when the provider did not count them.',
  'gen_ai.usage.output_tokens': 'Tokens of the answer; likewise.',
  'mcp.method.name': '`tools/call`.',
  'messaging.destination.name': 'Kind of the actor.',
  'messaging.message.id': 'Id of the message, for `svc message`.',
  'messaging.operation.type': '`process`.',
  'messaging.system': '`svc`.',
  'server.address': 'Host of the provider of a model.',
  'svc.actor': 'The actor: `kind/tenant/id`.',
  'svc.effect.attempt': 'Attempt of the effect, from 1.',
  'svc.effect.id': 'Id of the effect.',
  'svc.effect.kind': 'Kind of the effect.',
  'svc.effect.outcome': '`done`, `failed`, `retried`, `in_doubt` or `dropped`.',
  'svc.epoch': 'Lease epoch of the commit.',
  'svc.mcp.server': 'Name of the MCP server in the settings.',
  'svc.message.attempt': 'Attempt of the message, from 1.',
  'svc.message.origin': '`client`, `actor`, `timer` or `effect`.',
  'svc.message.type': 'Type of the message.',
  'svc.outcome': '`done`, `refused`, `retried` or `dead_lettered`.',
  'svc.provider': 'Name of the provider in the settings.',
  'svc.tenant': 'Tenant. On every span.',
  'svc.wait_ms': 'Time that the message waited before its turn.',
} as const;
