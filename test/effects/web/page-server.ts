import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';
import { createWeb, type WebParts } from '../../../effects/web/web.ts';
import { NodeWeb } from '../../../manifests/node/containers.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { systemRandom } from '../../../runtime/random.ts';
import type { FetchedPage, FetchRequest, Web, WebRules } from '../../../usecases/ports/web.ts';

/** A real server on a loopback address, and the requests that it received. */
export interface PageServer extends AsyncDisposable {
  readonly port: number;
  readonly asked: string[];
}

export async function serve(answer: RequestListener, address = '127.0.0.2', port = 0): Promise<PageServer> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(`${request.headers.host ?? ''} ${request.url ?? ''}`);
    answer(request, response);
  });
  server.listen(port, address);
  await once(server, 'listening');
  return {
    asked,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** web.* with settings; only 127.0.0.2 may be reached on loopback, unless they allow others. */
export const webOver = (
  settings: Partial<z.input<typeof NodeWeb>> = {},
  parts: Partial<WebParts> = {},
): Web & { close(): Promise<void> } =>
  createWeb({
    settings: NodeWeb.parse({ allow_addresses: ['127.0.0.2/32'], ...settings }),
    resolveSecret: async (reference) => reference.replace(/^literal:/, ''),
    ...{ clock: systemClock, random: systemRandom, ...parts },
  });

const OPEN: WebRules = {
  checkDomain(domain) {
    if (domain === 'denied.example') throw new SvcError('forbidden', `DomainNotAllowed: ${domain}`);
  },
};

export const fetchFrom = (
  web: Web,
  url: string,
  { signal = new AbortController().signal, ...more }: Partial<FetchRequest> & { readonly signal?: AbortSignal } = {},
): Promise<FetchedPage> =>
  web.fetch(
    { ...{ url, to_markdown: true, follow_redirects: true, timeout_ms: 20_000, max_bytes: 1_048_576 }, ...more },
    OPEN,
    signal,
  );
