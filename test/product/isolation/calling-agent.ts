import assert from 'node:assert/strict';
import { waitUntil } from '../../support/wait-until.ts';
import { objectOf, type ProductNode } from '../product-node.ts';
import { IndependentAgent } from '../seal/independent-agent.ts';
import { restClient } from '../seal/transports.ts';
import { type Args, type Asker, withoutAsked } from './asker.ts';

/**
 * An agent whose execution runs until the test is over: it calls tools over SEAL on behalf of the caller that started
 * it.
 */
export class CallingAgent {
  readonly asker: Asker;
  readonly #client: ReturnType<typeof restClient>;
  readonly #agent: IndependentAgent;
  #calls = 0;

  private constructor(asker: Asker, client: ReturnType<typeof restClient>, agent: IndependentAgent) {
    this.asker = asker;
    this.#client = client;
    this.#agent = agent;
  }

  static async of(node: ProductNode, asker: Asker, agent_id: string, execution_id: string): Promise<CallingAgent> {
    const headers = { ...asker.headers };
    await waitUntil(`the agent of ${asker.name} runs`, async () => {
      return (await node.statusOf(execution_id, headers)).status === 'running';
    });
    const client = restClient(node.url);
    const agent = new IndependentAgent({ agent_id, execution_id, container_id: execution_id });
    const { token, status, message } = await client.attest(agent, {}, headers);
    assert.ok(token !== '', `attest as ${asker.name}: ${status} ${message}`);
    agent.token = token;
    return new CallingAgent(asker, client, agent);
  }

  get executionId(): string {
    return this.#agent.is.execution_id;
  }

  get sessionId(): string {
    return this.#agent.sessionId;
  }

  async #call(tool: string, args: Args) {
    this.#calls += 1;
    return this.#client.invoke(this.#agent.call(this.#calls, tool, args), this.asker.headers);
  }

  /** The answer without the number of the call and the name that was asked for. */
  async answer(tool: string, args: Args, asked: string): Promise<string> {
    const { status, rpcCode, reason, message, result } = await this.#call(tool, args);
    return withoutAsked(JSON.stringify({ status, rpcCode, reason, message, result }), asked);
  }

  /** The structured result of a call that must succeed. */
  async made(tool: string, args: Args): Promise<Readonly<Record<string, unknown>>> {
    const { result, text } = await this.#call(tool, args);
    assert.equal(result?.isError, false, `${this.asker.name} ${tool}: ${text}`);
    return objectOf(JSON.stringify(result.structured));
  }
}
