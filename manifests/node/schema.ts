import { z } from 'zod';
import { API_VERSION } from '../metadata.ts';
import { NodeAudit } from './audit.ts';
import { NodeChaos, NodeCluster, NodeSelf } from './cluster.ts';
import { containerNetwork, NodeContainers, NodeHostCommands, NodeWeb } from './containers.ts';
import { NodeEncryption, NodeGrpcAuth, NodeIam, NodeSeal, NodeSecrets, NodeSigning } from './identity.ts';
import { NodeKernel, NodeLimits, NodeStorage, NodeStores, NodeWorkflow } from './kernel.ts';
import { HeaderName, ModelSelection, NodeCortex, NodePipeline, ProviderConfigs, SecretString } from './models.ts';
import { NodeNetwork } from './network.ts';
import { NodeRateLimits, NodeRetention, NodeStimulus } from './rate-limits.ts';
import { BuiltinDispatchers, McpServers, SecurityContexts } from './tools.ts';

const path = z.string().min(1).max(4_096);

/** `spec.runtime`: how agents' programs run on this node. Host commands are only for the listed tenants (S6). */
const Runtime = z.strictObject({
  default_isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).default('inherit'),
  /** Directory of relative `advanced.bootstrap_path`s. */
  bootstrap_dir: path.optional(),
  bootstrap_script: path.optional(),
  container_socket_path: path.optional(),
  /** Default `none`: containers have no network. */
  container_network_mode: containerNetwork,
  containers: NodeContainers.prefault({}),
  /** URL that agents' programs call; default: the internal listener. */
  orchestrator_url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).optional(),
  host_commands: NodeHostCommands.prefault({}),
});

/** `spec.observability`. Metrics are on the internal listener. */
const Observability = z.strictObject({
  logging: z
    .strictObject({
      level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
      format: z.enum(['json', 'text']).default('json'),
    })
    .prefault({}),
  metrics: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}),
  tracing: z
    .strictObject({
      /** Default: whether there is an endpoint. */
      enabled: z.boolean().optional(),
      /** Base URL of the OTLP receiver over HTTP; `/v1/traces` is appended. */
      otlp_endpoint: z
        .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
        .refine((text) => URL.parse(text)?.username === '', 'put credentials into headers')
        .optional(),
      /** Sent with every export; values may be secrets. */
      headers: z.record(HeaderName, SecretString).default({}),
      service_name: z.string().min(1).max(200).default('svc'),
      /** Share of the traces that begin here. The decision of a caller is kept. */
      sample_ratio: z.number().min(0).max(1).default(1),
      /** Spans that wait for export; further ones are dropped. */
      max_queued_spans: z.number().int().min(512).max(100_000).default(4_096),
    })
    .prefault({}),
});

/** `spec.dashboard`: the pages at `/`, and their client at the identity provider. */
const Dashboard = z.strictObject({
  enabled: z.boolean().default(true),
  oidc: z
    .strictObject({
      issuer: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).max(2_000),
      client_id: z.string().min(1).max(500),
      scopes: z.array(z.string().min(1).max(200)).min(1).max(20).default(['openid', 'profile']),
    })
    .optional(),
});

/** `/mcp`: the tools of this node for MCP clients. */
const NodeMcp = z.strictObject({ tool_names: z.enum(['alias', 'dotted']).default('alias') });

const Spec = z.strictObject({
  node: NodeSelf.prefault({}),
  network: NodeNetwork.prefault({}),
  stores: NodeStores.prefault({}),
  kernel: NodeKernel.prefault({}),
  limits: NodeLimits.prefault({}),
  retention: NodeRetention.prefault({}),
  runtime: Runtime.prefault({}),
  llm_providers: ProviderConfigs.default([]),
  llm_selection: ModelSelection.prefault({}),
  iam: NodeIam.prefault({}),
  grpc_auth: NodeGrpcAuth.prefault({}),
  seal: NodeSeal.prefault({}),
  audit: NodeAudit.prefault({}),
  security_contexts: SecurityContexts,
  mcp_servers: McpServers,
  mcp: NodeMcp.prefault({}),
  builtin_dispatchers: BuiltinDispatchers,
  web: NodeWeb.prefault({}),
  rate_limits: NodeRateLimits.prefault({}),
  cortex: NodeCortex.prefault({}),
  cluster: NodeCluster.prefault({}),
  signing: NodeSigning.prefault({}),
  secrets: NodeSecrets.prefault({}),
  encryption: NodeEncryption.prefault({}),
  chaos: NodeChaos.prefault({}),
  stimulus: NodeStimulus.prefault({}),
  workflow: NodeWorkflow.prefault({}),
  execute: NodePipeline.prefault({}),
  storage: NodeStorage.prefault({}),
  observability: Observability.prefault({}),
  dashboard: Dashboard.prefault({}),
});

/** The node's file `svc.yaml` (W45). Unknown keys are errors that name the key. */
export const NodeConfigSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('NodeConfig'),
  metadata: z
    .strictObject({
      name: z.string().min(1).max(128).default('svc'),
      version: z.string().max(100).optional(),
      description: z.string().max(4_096).optional(),
      labels: z.record(z.string(), z.string()).default({}),
    })
    .prefault({}),
  spec: Spec.prefault({}),
});

export type NodeConfig = z.output<typeof NodeConfigSchema>;
