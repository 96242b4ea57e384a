import type { Agent } from 'undici';

interface Http {
  readonly agent: Agent;
  readonly request: typeof import('undici')['request'];
}

/** Connections of one client, with their library: loaded at the first call, so that a node that makes none does not carry it. */
export class LateHttp {
  readonly #options: Agent.Options;
  #opening: Promise<Http> | null = null;

  constructor(options: Agent.Options) {
    this.#options = options;
  }

  open(): Promise<Http> {
    this.#opening ??= import('undici').then(({ Agent, request }) => ({ agent: new Agent(this.#options), request }));
    return this.#opening;
  }

  async close(): Promise<void> {
    await (await this.#opening)?.agent.destroy();
  }
}
