import { IndependentAgent } from '../../product/seal/independent-agent.ts';
import type { Headers, SealClient } from '../../product/seal/transports.ts';
import { AGENT, type Running } from './seal-server.ts';

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** The agent of a running execution of the server. */
export class Agent extends IndependentAgent {
  readonly running: Running;

  constructor(running: Running) {
    const { executionId } = running;
    super({ agent_id: AGENT, execution_id: executionId, container_id: executionId });
    this.running = running;
  }

  /** Opens a session. */
  async attest(client: SealClient, headers: Headers = {}): Promise<this> {
    const { token, status, message } = await client.attest(this, {}, headers);
    if (token === '') throw new Error(`attest: ${status} ${message}`);
    this.token = token;
    return this;
  }
}
