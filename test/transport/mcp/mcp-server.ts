import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolSessionActor } from '../../../actors/tool-session/definition.ts';
import { TOOL_SESSIONS, type ToolSessionDocument } from '../../../actors/tool-session/view.ts';
import type { Documents } from '../../../runtime/documents.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import type { Authenticator, OperationAudit } from '../../../security/api.ts';
import { createSecurityContexts } from '../../../security/policy/contexts.ts';
import { commandCeilings, isListed } from '../../../security/policy/matching.ts';
import { createToolPolicy } from '../../../security/policy/policy.ts';
import { TOOL_CONTRACTS } from '../../../tools/contracts.ts';
import { discoveryTools } from '../../../tools/discovery/tools.ts';
import { createToolEffect } from '../../../tools/tool-effect.ts';
import { createToolGranter } from '../../../tools/tool-granter.ts';
import type { ResourceParts } from '../../../transport/rest/parts.ts';
import { createToolSessionApi } from '../../../usecases/tool-sessions.ts';
import { mcpUnderTest, ours } from '../../effects/mcp/mcp-servers.ts';
import { startKernelNode } from '../../support/kernel-node.ts';
import { namedUsers, restServer } from '../rest/rest-server.ts';

/** A node's /mcp over real sessions, real policy, real tools and a real MCP server behind it. */
export async function mcpServer({
  authenticator = namedUsers,
  callTimeoutMs,
  denied = [],
  resource,
  audit,
  documents = (inner) => inner,
}: {
  readonly authenticator?: Authenticator;
  readonly callTimeoutMs?: number;
  /** Added to the context of operators. */
  readonly denied?: readonly string[];
  readonly resource?: ResourceParts;
  readonly audit?: OperationAudit;
  /** Wraps the documents of the kernel. */
  readonly documents?: (inner: Documents) => Documents;
} = {}) {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-mcp-setup-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const blobs = new FileBlobs({ directory });
  await blobs.open();
  opened.defer(() => blobs.close());
  const behind = opened.use(await mcpUnderTest([ours('wild')]));
  const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });
  const contexts = createSecurityContexts([], { mcpServers: ['wild'] });
  const granter = createToolGranter({
    isListed,
    mcp: behind.servers,
    contexts: {
      ...contexts,
      callerScope(identity) {
        const scope = contexts.callerScope(identity);
        return { ...scope, deny_list: [...scope.deny_list, ...denied] };
      },
    },
  });
  const effect = createToolEffect({ granter, blobs, tools: discoveryTools(granter), mcp: { servers: behind.servers } });
  const kernel = await startKernelNode({ definitions: [toolSessionActor({ policy })], handlers: [effect], documents });
  opened.defer(() => kernel.stop());
  const sessions = createToolSessionApi({
    client: kernel.runtime.client,
    sessions: await kernel.documents.collection<ToolSessionDocument>(TOOL_SESSIONS),
    blobs,
  });
  const clocked = callTimeoutMs === undefined ? {} : { callTimeoutMs };
  const rest = opened.use(
    await restServer({
      authenticator,
      mcp: { granter, sessions, random: systemRandom, audit, ...clocked },
      ...(resource === undefined ? {} : { resource }),
    }),
  );
  // First the sources that calls may wait for, so that the kernel can stop.
  opened.defer(() => behind.servers.close());
  const all = opened.move();
  return { rest, url: `${rest.base}/mcp`, sessions, granter, behind, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Headers as MCP clients send them. */
export const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const;

/** Sends one message; returns status, headers and the JSON, if any. */
export async function post(
  url: string,
  message: unknown,
  {
    token = 'operator',
    headers = {},
  }: { readonly token?: string | null; readonly headers?: Record<string, string> } = {},
) {
  const authorization: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const response = await fetch(url, { method: 'POST', headers: { ...HEADERS, ...authorization, ...headers }, body });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) };
}
