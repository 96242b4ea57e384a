import type { Agent } from 'undici';
import { Lazy } from '../runtime/kit/lazy.ts';

interface Http {
  readonly agent: Agent;
  readonly request: typeof import('undici')['request'];
}

/** Connections of one client, with their library: loaded at the first call, so that a node that makes none does not carry it. */
export class LazyHttp {
  readonly #http: Lazy<Http>;

  constructor(options: Agent.Options) {
    this.#http = new Lazy(async () => {
      const { Agent, request } = await import('undici');
      return { agent: new Agent(options), request };
    });
  }

  open(): Promise<Http> {
    return this.#http.get();
  }

  async close(): Promise<void> {
    await (await this.#http.made())?.agent.destroy();
  }
}
