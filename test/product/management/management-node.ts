import { scriptedModel } from '../../support/node-config.ts';
import { type Answer, agentYaml, type ProductNode } from '../product-node.ts';
import type { IndependentAgent } from '../seal/independent-agent.ts';
import { SealNode, type SealNodeOptions } from '../seal/seal-node.ts';
import { type Headers, restClient, type SealClient } from '../seal/transports.ts';

type Args = Readonly<Record<string, unknown>>;

/** Result of a tool call, in terms of all interfaces. */
export interface Called {
  /** Undefined: the call was refused. */
  readonly isError?: boolean;
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>>;
  /** Reason of a refused call: `InvalidArguments`, `ToolNotAllowed`. */
  readonly reason?: string;
}

export interface ToolClient {
  readonly name: string;
  call(tool: string, args: Args): Promise<Called>;
}

const objectIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** A node where an agent and the local operator may call all tools svc.*, with one client for each interface. */
export class ManagementNode implements AsyncDisposable {
  readonly at: SealNode;
  readonly clients: readonly ToolClient[];

  private constructor(at: SealNode, clients: readonly ToolClient[]) {
    this.at = at;
    this.clients = clients;
  }

  static async start({ spec, ...options }: SealNodeOptions = {}): Promise<ManagementNode> {
    const script = new URL('../../tools/management/script.yaml', import.meta.url).pathname;
    const more = {
      security_contexts: [{ name: 'managing', capabilities: [{ tool_pattern: 'svc.*' }] }],
      llm_providers: [scriptedModel(script)],
      // A model call that lasts until the test is over occupies a slot.
      kernel: { effect_concurrency: 256 },
    };
    const at = await SealNode.start({ ...options, spec: { ...more, ...spec } });
    const agent = agentYaml('agent-manager', { security_context: 'managing', tools: ['svc.*'] });
    const agent_id = await at.node.deploy(agent);
    const execution_id = await at.node.run(agent_id, 'sleepy');
    await at.running(execution_id);
    const is = { agent_id, execution_id, container_id: execution_id };
    const sealed = await Promise.all(
      [restClient(at.node.url), at.grpc()].map(async (client) => sealToolClient(client, await at.attested(is, client))),
    );
    return new ManagementNode(at, [...sealed, mcpToolClient(at.node)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.at[Symbol.asyncDispose]();
  }
}

export function sealToolClient(client: SealClient, agent: IndependentAgent, headers: Headers = {}): ToolClient {
  let id = 0;
  return {
    name: `SEAL over ${client.name}`,
    async call(tool, args) {
      id += 1;
      const { result, reason, message, text } = await client.invoke(agent.call(id, tool, args), headers);
      if (result === undefined) return { text: message, structured: {}, reason: reason ?? text };
      return { isError: result.isError, text: result.text, structured: objectIn(result.structured) };
    },
  };
}

export function mcpToolClient(node: ProductNode, headers: Headers = {}): ToolClient {
  return {
    name: '/mcp',
    async call(tool, args) {
      const answer: Answer = await node.json(
        'POST',
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } },
        { accept: 'application/json, text/event-stream', ...headers },
      );
      const { result, error } = answer.body;
      const { content, structuredContent, isError } = objectIn(result);
      if (result === undefined) {
        const { message, data } = objectIn(error);
        return { text: String(message), structured: {}, reason: String(objectIn(data).reason ?? answer.text) };
      }
      const [block] = Array.isArray(content) ? content : [];
      const text = String(objectIn(block).text);
      return { isError: isError === true, text, structured: objectIn(structuredContent) };
    },
  };
}
