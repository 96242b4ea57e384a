import { setTimeout as pause } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { SvcError } from '../../runtime/errors.ts';
import type { ServerCredentials } from './credentials.ts';
import { createHttpTransport } from './http-transport.ts';
import type { McpLimits } from './limits.ts';
import type { McpSdk } from './sdk.ts';
import type { McpServerSettings } from './settings.ts';
import { type StdioParts, StdioTransport } from './stdio-transport.ts';

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
