import type { Agent } from 'undici';
import { Lazy } from '../runtime/kit/lazy.ts';

interface Http {
  readonly agent: Agent;
  readonly request: typeof import('undici')['request'];
}

/** An HTTP client that loads its library at the first call, to keep the memory of an idle node low. */
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
