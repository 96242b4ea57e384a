import {
  type AskedRuntime,
  findRuntime,
  type Runtime,
  runtimeTable,
  type RuntimeSettings as TableSettings,
} from '../../manifests/runtime-table/table.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ExecutionTokens } from '../../security/api.ts';
import type { DispatchApi } from '../../usecases/gateway.ts';
import { KEEP_LABEL } from '../containers/create-options.ts';
import type { ContainerInput } from '../containers/input.ts';
import type { ContainerExtras, ContainerOwner, ContainerParts, EngineParts } from '../containers/settings.ts';
import { BOOTSTRAP, EXCHANGE_LABEL, exchangeOf, PROMPT_FILE, prepareExchange } from './exchange-directory.ts';
import { type AgentContainerInput, nodeVariables, resolveEnvironment } from './input.ts';

/** Below the Linux limit for one argument; a longer prompt is passed as a file. */
const LONGEST_ARGUMENT_BYTES = 124 * 1_024;

/** The token is valid a little longer than the container runs, for a last call under way. */
const TOKEN_MARGIN_MS = 60_000;

/** User for images without one, when the settings name none either (W26). */
const USER = '1000:1000';

interface PlannedContainer {
  readonly container: ContainerInput;
  readonly extras: Pick<ContainerExtras, 'binds' | 'labels' | 'user'>;
  /** Parts of the node, restricted for this container. */
  readonly parts: EngineParts;
  readonly secrets: readonly string[];
}

/** Plans the container of one iteration, in the format of `container.run`, and prepares its exchange. */
export async function planContainer(
  parts: AgentContainerParts,
  engine: EngineParts,
  input: AgentContainerInput,
  owner: ContainerOwner,
): Promise<PlannedContainer> {
  const runtime = runtimeOf(parts.runtimes, input);
  const { variables, secrets } = await resolveEnvironment(engine.secrets, owner.tenant, input.env);
  const { execution_id: executionId, limits } = input;
  const expiresAt = engine.clock.now() + limits.timeout_ms + TOKEN_MARGIN_MS;
  const token = await parts.tokens.issue({ tenant: owner.tenant, executionId, expiresAt });
  const exchange = exchangeOf(parts.directory, owner.effectId);
  const isLong = Buffer.byteLength(input.prompt) > LONGEST_ARGUMENT_BYTES;
  const binds = await prepareExchange(exchange, { script: parts.script, prompt: isLong ? input.prompt : null });
  for (const { volume_id, create } of input.mounts) {
    if (create) await engine.volumes.open(owner.tenant, volume_id, { create });
  }
  const { onEnd, ...rest } = engine;
  const kept = parts.keep && variables.SVC_KEEP_CONTAINER === 'true';
  const agentVariables = { ...variables, ...nodeVariables({ url: parts.gatewayUrl(), token }) };
  const env = { ...runtime.env, ...agentVariables, SVC_PRIVATE_ENV: privateNames(agentVariables) };
  return {
    container: containerOf(input, runtime.image, isLong ? { ...env, SVC_PROMPT_FILE: PROMPT_FILE } : env, isLong),
    extras: {
      binds,
      labels: { [EXCHANGE_LABEL]: exchange, ...(kept ? { [KEEP_LABEL]: 'true' } : {}) },
      user: engine.limits.user ?? defaultUser(),
    },
    parts: {
      ...rest,
      limits: limitsOf(parts, engine, input),
      onEnd: kept ? undefined : onEnd,
    },
    // The token gives access to the gateway, so it must not appear in output.
    secrets: [...secrets, token],
  };
}

/** The limits of the node, lowered to those of the manifest. */
export const limitsOf = (
  parts: Pick<AgentContainerParts, 'network'>,
  { limits: own }: EngineParts,
  { read_only, network, limits }: Pick<AgentContainerInput, 'read_only' | 'network'> & LimitedDisk,
): EngineParts['limits'] => ({
  ...own,
  readOnlyRoot: own.readOnlyRoot || read_only,
  networkMode: network === 'open' ? parts.network : 'none',
  tmpBytes: Math.min(own.tmpBytes, limits.disk_bytes ?? own.tmpBytes),
});

interface LimitedDisk {
  readonly limits: Pick<AgentContainerInput['limits'], 'disk_bytes'>;
}

function containerOf(
  { execution_id, image_pull_policy, bootstrap_path, prompt, mounts, read_only, limits }: AgentContainerInput,
  image: string,
  env: Readonly<Record<string, string>>,
  isLong: boolean,
): ContainerInput {
  const argument = isLong ? [] : [prompt];
  return {
    workflow_execution_id: execution_id,
    state_name: 'agent',
    image,
    image_pull_policy,
    command: [...(bootstrap_path ? [bootstrap_path] : ['/bin/sh', BOOTSTRAP]), ...argument],
    shell: false,
    env: { ...env },
    workdir: '/workspace',
    mounts: mounts.map(({ volume_id, mount_path, ...mount }) => ({
      volume_id,
      mount_path,
      read_only: read_only || mount.read_only,
    })),
    timeout_ms: limits.timeout_ms,
    memory_bytes: limits.memory_bytes ?? undefined,
    cpu_millicores: limits.cpu_millicores ?? undefined,
  };
}

/** Variables of the agent that the bootstrap hides from the commands of its model, as on a node that runs them itself. */
const privateNames = (variables: Readonly<Record<string, string>>): string =>
  [...Object.keys(variables), 'SVC_PROMPT_FILE'].filter((name) => name !== 'PATH').join(' ');

/** A node without root rights shares volumes with its containers by giving them its own user. */
export function defaultUser(): string {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return uid === 0 ? USER : `${uid}:${gid}`;
}

export interface AgentContainerParts {
  /** Parts of `container.run` on this node. */
  readonly containers: ContainerParts;
  /** Directory of this node for exchanges, closed to other users; the engine must see the same file system. */
  readonly directory: string;
  /** Content of `spec.runtime.bootstrap_script`; null: the node's own bootstrap. */
  readonly script: Buffer | null;
  /** Answers the requests of bootstraps. */
  readonly gateway: DispatchApi;
  readonly tokens: Pick<ExecutionTokens, 'issue'>;
  /** URL of the internal listener for containers with a network; null: none. */
  readonly gatewayUrl: () => string | null;
  readonly runtimes: RuntimeSettings;
  /** `spec.runtime.containers.agent_network`, else `spec.runtime.container_network_mode`, else `none`. */
  readonly network: string;
  /** `spec.runtime.containers.keep_agent_containers`. */
  readonly keep: boolean;
}

interface RuntimeSettings {
  /** `spec.runtime.containers.runtimes`. */
  readonly runtimes: TableSettings;
  /** Image for agents that name neither image nor language. */
  readonly defaultImage: string;
}

/**
 * The image of an agent and the variables of its language. Throws `unsupported_runtime` for a language or version that is
 * not in the table: the node that accepted the start may have another table.
 */
export function runtimeOf(
  settings: RuntimeSettings,
  asked: AskedRuntime & { readonly image?: string | null | undefined },
): Pick<Runtime, 'image' | 'env'> {
  const plain = (name: string) => ({ image: name, env: {} });
  if (asked.image !== undefined && asked.image !== null) return plain(asked.image);
  const found = findRuntime(runtimeTable(settings.runtimes), asked);
  if (!found.ok) throw new SvcError('unsupported_runtime', found.message, { field: 'spec.runtime.version' });
  return found.runtime ?? plain(settings.defaultImage);
}
