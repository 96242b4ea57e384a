import type { Socket } from 'node:net';
import type { NodeOffer } from '../actors/execution/node-fit.ts';
import type { NodeControls } from '../cluster/operations/node-controls.ts';
import { nodeVariables } from '../effects/agents/environment.ts';
import { ContainerNetworks } from '../effects/containers/networks.ts';
import type { GatewayListener } from '../effects/programs/gateway-relay.ts';
import { isLoopback } from '../manifests/node/network.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { runtimeTable } from '../manifests/runtime-table/table.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ExecutionTokens } from '../security/api.ts';
import { createExecutionTokens } from '../security/seal/execution-tokens.ts';
import type { Signing } from './signing.ts';

/** How agents' programs and containers reach this node's internal listener (design S5). */
export interface AgentAccess {
  readonly tokens: ExecutionTokens;
  /** Of containers: from there the listeners take the calls of agents alone. */
  readonly networks: ContainerNetworks;
  /** `http://HOST:PORT`; null until it listens. */
  url(): string | null;
  /** What one execution's program is told, and the capability token in it, which no output may show. */
  variables(execution: {
    readonly tenant: string;
    readonly executionId: string;
    readonly lastsMs: number;
    /** True: it has the gateway at its own loopback, and no other network. */
    readonly relayed: boolean;
  }): Promise<{
    readonly variables: Readonly<Record<string, string>>;
    readonly secrets: readonly string[];
    /** Null until it listens. */
    readonly listener: GatewayListener | null;
  }>;
  /** `accept` serves a connection of a program that is in no network of this machine. */
  listensAt(url: string, accept: (connection: Socket) => void): void;
}

/** The token outlives the program a little: its last call may be under way. */
const MARGIN_MS = 60_000;

export function openAgentAccess({
  settings,
  signing,
  clock,
}: {
  readonly settings: NodeSettings;
  readonly signing: Signing;
  readonly clock: Clock;
}): AgentAccess {
  const tokens = createExecutionTokens({ ...signing, clock, settings: settings.seal });
  let listening: string | null = null;
  let listener: GatewayListener | null = null;
  const url = (): string | null => (listening === null ? null : (settings.runtime.orchestrator_url ?? listening));
  return {
    tokens,
    networks: new ContainerNetworks({ onLoopback: listensOnLoopback(settings) }),
    url,
    async variables({ tenant, executionId, lastsMs, relayed }) {
      const token = await tokens.issue({ tenant, executionId, expiresAt: clock.now() + lastsMs + MARGIN_MS });
      const inside = listener === null ? null : `http://127.0.0.1:${listener.port}`;
      return { variables: nodeVariables({ url: relayed ? inside : url(), token }), secrets: [token], listener };
    },
    listensAt(address, accept) {
      listening = address;
      listener = { port: Number(new URL(address).port), accept };
    },
  };
}

function listensOnLoopback({ network, cluster }: NodeSettings): boolean {
  return [network.bind, network.internal.bind, cluster.bind ?? network.bind].every(isLoopback);
}

/** What this node offers to executions that are started on it; deprecated runtimes are a line in its log (spec 3). */
export function executionOffer({
  settings,
  controls,
  log,
}: {
  readonly settings: NodeSettings;
  readonly controls: Pick<NodeControls, 'isolation'>;
  readonly log: { warn(about: object, message: string): void };
}): () => NodeOffer {
  const runtimes = runtimeTable(settings.runtime.containers.runtimes);
  return () => ({
    ...{ isolation: controls.isolation, runtimes },
    onDeprecated({ agentId, executionId }, { language, version }) {
      log.warn({ agent: agentId, execution: executionId }, `runtime ${language} ${version} is deprecated`);
    },
  });
}
