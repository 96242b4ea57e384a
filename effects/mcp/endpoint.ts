import { setTimeout as pause } from 'node:timers/promises';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { SvcError } from '../../runtime/errors.ts';
import type { McpLimits, McpServerSettings, ServerCredentials } from './limits.ts';
import { type StdioParts, StdioTransport } from './stdio-transport.ts';
import type { McpSdk } from './tool-list.ts';

export interface EndpointParts extends Omit<StdioParts, 'sdk' | 'settings'> {
  readonly settings: McpServerSettings;
  readonly credentials: ServerCredentials;
  readonly limits: McpLimits;
}

/** Where a server is spoken to. */
export interface Endpoint {
  readonly transport: Transport;
  /** Gently, or at once for a reason. */
  end(reason: string | null): Promise<void>;
}

/** How long a program that no longer reads may take to be gone: its end says more than a failed write. */
const GOING_MS = 500;

/** `onEnd` is told why, once the server is gone or must go. */
export function createEndpoint(sdk: McpSdk, parts: EndpointParts, onEnd: (why: string) => void): Endpoint {
  const { settings, credentials, limits } = parts;
  const { url, executable } = settings;
  if (executable !== undefined) return program(sdk, { ...parts, settings: { ...settings, executable } }, onEnd);
  if (url === undefined) throw new SvcError('internal', 'a server is neither a program nor a URL');
  const transport = createHttpTransport({ sdk, url, headers: credentials.headers, limits, onBroken: onEnd });
  return {
    transport,
    async end(reason) {
      if (reason === null) {
        // A server that keeps sessions forgets this one; it may be gone, or slow, and then it forgets it later.
        const told = transport.terminateSession().catch(() => {});
        await Promise.race([told, pause(limits.stopGraceMs, undefined, { ref: false })]);
      }
      await transport.close();
    },
  };
}

function program(sdk: McpSdk, parts: Omit<StdioParts, 'sdk'>, onEnd: (why: string) => void): Endpoint {
  const transport = new StdioTransport({ ...parts, sdk });
  transport.onclose = () => onEnd(transport.reason);
  return {
    transport,
    async end(reason) {
      if (reason !== null && !(await transport.endsWithin(transport.isReadable ? 0 : GOING_MS))) transport.kill(reason);
      await transport.close();
    },
  };
}

interface HttpParts {
  readonly sdk: McpSdk;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: McpLimits;
  /** An answer broke off or was too large: whoever waits for it would wait for ever. */
  readonly onBroken: (why: string) => void;
}

/** Streamable HTTP by the SDK. Redirects stay within the origin, so credentials do too; answers are bounded. */
function createHttpTransport({ sdk, url, headers, limits, onBroken }: HttpParts): StreamableHTTPClientTransport {
  return new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: async (target, init) => {
      const response = await fetch(target, init);
      if (response.body === null || response.status === 202) return response;
      const isPost = init?.method === 'POST';
      const bounded = boundedBody(response.body, isStream(response), limits.messageBytes, (why) => {
        if (isPost || why !== BROKE_OFF) onBroken(why);
      });
      // The constructor knows no address of its own, and refuses a body where there can be none.
      return new Response(bounded, {
        status: response.status,
        statusText: response.statusText,
        headers: response.headers,
      });
    },
  });
}

const BROKE_OFF = 'its answer broke off';

const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;

const NEWLINE = 0x0a;

const RETURN = 0x0d;

/** At most `mostBytes`; of an event stream, at most that in each event. */
function boundedBody(
  body: ReadableStream<Uint8Array>,
  byEvent: boolean,
  mostBytes: number,
  onBroken: (why: string) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  let lineIsEmpty = true;
  const count = (chunk: Uint8Array): void => {
    if (!byEvent) {
      bytes += chunk.length;
      return;
    }
    for (const byte of chunk) {
      bytes += 1;
      if (byte === RETURN) continue;
      if (byte === NEWLINE && lineIsEmpty) bytes = 0;
      lineIsEmpty = byte === NEWLINE;
      if (bytes > mostBytes) return;
    }
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let read: Awaited<ReturnType<typeof reader.read>>;
      try {
        read = await reader.read();
      } catch (error) {
        if (!(error instanceof Error && error.name === 'AbortError')) onBroken(BROKE_OFF);
        throw error;
      }
      if (read.done) return controller.close();
      count(read.value);
      if (bytes <= mostBytes) return controller.enqueue(read.value);
      const why = `it sent a message of more than ${mostBytes} bytes`;
      onBroken(why);
      await reader.cancel();
      throw new SvcError('unavailable', why);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
