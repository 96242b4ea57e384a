import { setTimeout as pause } from 'node:timers/promises';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ServerCredentials } from './credentials.ts';
import type { McpLimits, McpServerSettings } from './limits.ts';
import type { McpSdk } from './sdk.ts';
import { type StdioParts, StdioTransport } from './stdio-transport.ts';

export interface EndpointParts extends Omit<StdioParts, 'sdk' | 'settings'> {
  readonly settings: McpServerSettings;
  readonly credentials: ServerCredentials;
  readonly limits: McpLimits;
}

/** The transport to a server. */
export interface Endpoint {
  readonly transport: Transport;
  /** Ends it gracefully, or at once if there is a reason. */
  end(reason: string | null): Promise<void>;
}

/** How long to wait for the end of a program that no longer reads: its exit is a better reason than a failed write. */
const EXIT_WAIT_MS = 500;

/** Calls `onEnd` with the reason when the server has ended or must end. */
export function createEndpoint(sdk: McpSdk, parts: EndpointParts, onEnd: (why: string) => void): Endpoint {
  const { settings, credentials, limits } = parts;
  const { url, executable } = settings;
  if (executable !== undefined) return program(sdk, { ...parts, settings: { ...settings, executable } }, onEnd);
  if (url === undefined) throw new SvcError('internal', 'a server needs a program or a URL');
  const transport = createHttpTransport({ sdk, url, headers: credentials.headers, limits, onBroken: onEnd });
  return {
    transport,
    async end(reason) {
      if (reason === null) {
        // Ends the session on the server. A server that is down or slow ends it by its own time-out.
        const terminated = transport.terminateSession().catch(() => {});
        await Promise.race([terminated, pause(limits.stopGraceMs, undefined, { ref: false })]);
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
      if (reason !== null && !(await transport.endsWithin(transport.isReadable ? 0 : EXIT_WAIT_MS)))
        transport.kill(reason);
      await transport.close();
    },
  };
}

interface HttpParts {
  readonly sdk: McpSdk;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: McpLimits;
  /** Called for an answer that broke off or is too large, since its request would wait forever. */
  readonly onBroken: (why: string) => void;
}

/** The SDK's Streamable HTTP transport with bounded answers. Redirects, and with them credentials, stay within the origin. */
function createHttpTransport({ sdk, url, headers, limits, onBroken }: HttpParts): StreamableHTTPClientTransport {
  return new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: async (target, init) => {
      const response = await fetch(target, init === undefined ? init : withTrace(init));
      if (response.body === null || response.status === 202) return response;
      const isPost = init?.method === 'POST';
      const bounded = boundedBody(response.body, isStream(response), limits.messageBytes, (why) => {
        if (isPost || why !== BROKE_OFF) onBroken(why);
      });
      return new Response(bounded, {
        status: response.status,
        statusText: response.statusText,
        headers: response.headers,
      });
    },
  });
}

/** Passes the trace on with a request that an effect makes. */
function withTrace(init: RequestInit): RequestInit {
  const trace = outgoingTrace();
  if (trace === null) return init;
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(trace)) headers.set(name, value);
  return { ...init, headers };
}

const BROKE_OFF = 'its answer ended before it was complete';

const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;

const NEWLINE = 0x0a;

const RETURN = 0x0d;

/** Limits the body to `mostBytes`; an event stream to that per event. */
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
