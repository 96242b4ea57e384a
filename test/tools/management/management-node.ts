import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { executionActor } from '../../../actors/execution/definition.ts';
import { agentQuota, inUseOf, openSearch } from '../../../app/catalogs.ts';
import { areasOnceOpen, type EffectAreas } from '../../../app/effect-areas.ts';
import { managementPorts } from '../../../app/management.ts';
import { toolPolicy, workflowActors } from '../../../app/product-actors.ts';
import { openTraces } from '../../../app/traces.ts';
import { openWhy, openWorkflowAreas, waitsOf } from '../../../app/workflow-areas.ts';
import { createAgentCatalog } from '../../../catalog/agent-catalog.ts';
import { createBuiltIns } from '../../../catalog/built-in/built-ins.ts';
import { createModelEffect } from '../../../effects/models/model-effect.ts';
import { createAgentStart, createWorkflowStart } from '../../../effects/starts/child-start.ts';
import { createVolumes } from '../../../effects/volumes/volumes.ts';
import { ToolOutcome, type ToolRun } from '../../../manifests/tool/call.ts';
import { addressOf } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import type { EffectContext } from '../../../runtime/effect.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { openStores } from '../../../runtime/open-stores.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { startRuntime } from '../../../runtime/runtime.ts';
import { createFileSecrets } from '../../../security/file-secrets.ts';
import { createSecurityContexts } from '../../../security/policy/contexts.ts';
import { isListed } from '../../../security/policy/matching.ts';
import { createTierLimits } from '../../../security/rate-bounds.ts';
import { TOOL_CONTRACTS } from '../../../tools/contracts.ts';
import { discoveryTools } from '../../../tools/discovery/tools.ts';
import { managementTools } from '../../../tools/management/tools.ts';
import { createToolEffect } from '../../../tools/tool-effect.ts';
import { builtInOffer, createToolGranter } from '../../../tools/tool-granter.ts';
import { createDispatchApi } from '../../../usecases/dispatches.ts';
import { createExecutionApi, EXECUTIONS, type ExecutionDocument } from '../../../usecases/executions.ts';
import { effectContext, runToEnd } from '../../support/effect-context.ts';
import { scriptedSettings } from '../../support/scripted-settings.ts';

export const OPERATOR: Identity = {
  ...{ kind: 'operator', subject: 'olga', tenant: 'acme' },
  ...{ roles: ['svc:admin'], tier: 'enterprise' },
};
/** Of the same tenant, with no role. */
export const USER: Identity = { kind: 'tenant_user', subject: 'uma', tenant: 'acme', roles: [], tier: 'pro' };
export const STRANGER: Identity = { ...USER, subject: 'sam', tenant: 'umbrella' };
export const SERVICE: Identity = {
  ...OPERATOR,
  kind: 'service_account',
  subject: 'bot',
  tenant: 'umbrella',
  tenants: ['acme'],
};

export type Args = ToolRun['arguments'];

/** The management tools over real areas on one SQLite file, called as the session of a caller calls them. */
export interface ManagementNode extends AsyncDisposable {
  /** Its structured result is checked against what the tool publishes. */
  call(tool: string, args: Args, as?: Identity, more?: Partial<EffectContext>): Promise<ToolOutcome>;
  /** The structured result; throws with the text of a tool that failed. */
  ok(tool: string, args: Args, as?: Identity): Promise<Readonly<Record<string, unknown>>>;
  readonly runtime: Awaited<ReturnType<typeof startRuntime>>;
}

export async function managementNode(): Promise<ManagementNode> {
  await using opened = new AsyncDisposableStack();
  const settings = scriptedSettings(new URL('./script.yaml', import.meta.url));
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-management-'));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  // The kernel's timers keep no process alive, and there is no socket here that would.
  const alive = setInterval(() => {}, 60_000);
  opened.defer(() => clearInterval(alive));
  const warn = (): void => {};
  const stores = await openStores({ dataDir, warn });
  opened.defer(() => stores.close());
  const parts = { clock: systemClock, random: systemRandom, warn, node: 'node-a' };
  const { documents } = stores;
  const areasOpen = Promise.withResolvers<EffectAreas>();
  const areas = areasOnceOpen(areasOpen.promise);
  const secrets = createFileSecrets({ directory: join(dataDir, 'secrets'), environment: {} });
  const runtime = await startRuntime({
    ...{ ...stores, ...parts },
    definitions: [executionActor({ policy: toolPolicy(settings) }), ...workflowActors(settings)],
    handlers: [
      createModelEffect({ providers: settings.llm_providers, selection: settings.llm_selection, secrets }),
      createAgentStart(areas.agents),
      createWorkflowStart(areas.workflows),
    ],
    settings: { partitions: 8, systemPartitions: 2, tagPoolPartitions: 2 },
  });
  opened.defer(() => runtime.stop());
  const builtIns = createBuiltIns();
  const inUse = await inUseOf(documents);
  const agents = await createAgentCatalog({
    ...{ ...parts, documents, builtIns, inUse },
    quota: agentQuota(settings),
  });
  const waits = waitsOf(runtime, stores.store);
  const executions = createExecutionApi({
    ...{ client: runtime.client, waits, removals: runtime.removals },
    executions: await documents.collection<ExecutionDocument>(EXECUTIONS),
    node: () => ({ isolation: 'process' }),
  });
  const dispatch = createDispatchApi({ client: runtime.client, blobs: stores.blobs });
  const { workflows, approvals, judges, forEffects } = await openWorkflowAreas({
    context: { ...parts, settings, resolveSecret: async () => '' },
    ...{ runtime, documents, agents, builtIns, inUse, executions, waits },
  });
  const fleet = { view: async () => ({ members: [], pools: [] }), holderOf: async () => null, isLive: () => true };
  const why = await openWhy({ runtime, documents, waits, fleet, clock: systemClock });
  const volumes = await createVolumes({
    ...{ ...parts, documents, root: join(dataDir, 'volumes'), quota: settings.storage.local_host.quota },
    limits: { defaultTtlHours: 1, defaultSizeLimitMb: 10, maxSizeLimitMb: 100 },
    ended: (tenant, id) => areas.ended(tenant, id),
  });
  opened.defer(() => volumes.close());
  const { traces } = await openTraces({
    ...{ stores, runtime, clock: systemClock, executions, workflows: workflows.workflows, volumes, placement: fleet },
  });
  const tierLimits = createTierLimits({ limits: stores.rateLimits, settings: settings.rate_limits });
  const management = managementPorts({
    ...{ ...parts, store: stores.store, agents, executions, judges, tierLimits, volumes, settings },
    ...{ why, traces, approvals, ...workflows },
    search: await openSearch({ ...parts, documents, settings, secrets, builtIns }),
    ...{ version: '0', health: { ready: async () => ({ ready: true }) }, configPath: null, runsImages: false },
  });
  areasOpen.resolve({ ...forEffects, dispatch, management: async () => management });
  const granter = createToolGranter({ contexts: createSecurityContexts([]), isListed });
  const tools = [...managementTools(areas.management, granter), ...discoveryTools(granter)];
  const effect = createToolEffect({ granter, blobs: stores.blobs, tools });
  const owned = opened.move();

  const call: ManagementNode['call'] = async (tool, given, as = OPERATOR, more = {}) => {
    const contract = TOOL_CONTRACTS.get(tool);
    if (contract === undefined) throw new Error(`no tool ${tool}`);
    const { tenant, ...principal } = as;
    const session = randomUUID();
    const run: ToolRun = {
      ...{ tool, arguments: given, limits: {}, schema_hash: builtInOffer(contract).schema_hash },
      subject: { execution_id: null, agent_id: null, session_id: session, principal, mounts: [], isolation: 'process' },
      scope: {
        ...{ security_context: 'svc-system-operator', deny_list: [], capabilities: [{ tool_pattern: '*' }] },
        ...{ manifest: null, network: null, filesystem: null },
      },
    };
    const context = effectContext({ tenant, address: addressOf('tool-session', tenant, session), ...more });
    const answer = await runToEnd((again) => effect.run(effect.input.parse(run), again), context);
    const outcome = ToolOutcome.parse(answer);
    if (outcome.is_error) return outcome;
    contract.result?.parse(outcome.structured);
    return outcome;
  };
  return {
    ...{ call, runtime },
    async ok(tool, args, as) {
      const { is_error, content, structured } = await call(tool, args, as);
      if (is_error || structured === undefined) throw new Error(`${tool}: ${JSON.stringify(content)}`);
      return structured;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
