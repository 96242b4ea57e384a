import { IndependentAgent } from '../../product/seal/independent-agent.ts';
import type { Door, Headers } from '../../product/seal/transports.ts';
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
  async attest(door: Door, headers: Headers = {}): Promise<this> {
    const { token, status, message } = await door.attest(this, {}, headers);
    if (token === '') throw new Error(`attest: ${status} ${message}`);
    this.token = token;
    return this;
  }
}
