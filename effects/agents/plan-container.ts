import {
  type AskedRuntime,
  findRuntime,
  type Runtime,
  runtimeTable,
  type RuntimeSettings as TableSettings,
} from '../../manifests/runtime-table/table.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ExecutionTokens } from '../../security/api.ts';
import { KEEP_LABEL } from '../containers/create-options.ts';
import type { ContainerInput } from '../containers/input.ts';
import type { ContainerExtras, ContainerOwner, ContainerParts, EngineParts } from '../containers/settings.ts';
import type { AgentGateway } from './bootstrap/api.ts';
import { BOOTSTRAP, BOX_LABEL, boxOf, giveAway, makeBox, PROMPT_FILE } from './box.ts';
import { type AgentContainerInput, nodeVariables, resolveEnvironment } from './input.ts';

/** Well below what Linux takes in one argument; a longer prompt is a file. */
const LONGEST_ARGUMENT_BYTES = 124 * 1_024;

/** The token outlives the container a little: its last call may be under way. */
const TOKEN_MARGIN_MS = 60_000;

/** Where neither image nor settings name a user (W26). */
const USER = '1000:1000';

interface PlannedContainer {
  readonly container: ContainerInput;
  readonly extras: Pick<ContainerExtras, 'binds' | 'labels' | 'user'>;
  /** The node's, narrowed to what this container may. */
  readonly parts: EngineParts;
  readonly secrets: readonly string[];
}

/** The container of one iteration as `container.run` takes it. Makes its box. */
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
  const box = boxOf(parts.directory, owner.effectId);
  const isLong = Buffer.byteLength(input.prompt) > LONGEST_ARGUMENT_BYTES;
  const binds = await makeBox(box, { script: parts.script, prompt: isLong ? input.prompt : null });
  const user = engine.limits.user ?? defaultUser();
  await shareVolumes(engine, input, owner, user);
  const { onEnd, ...rest } = engine;
  const kept = parts.keep && variables.SVC_KEEP_CONTAINER === 'true';
  const told = { ...variables, ...nodeVariables({ url: parts.gatewayUrl(), token }) };
  const env = { ...runtime.env, ...told, SVC_PRIVATE_ENV: privateNames(told) };
  return {
    container: containerOf(input, runtime.image, isLong ? { ...env, SVC_PROMPT_FILE: PROMPT_FILE } : env, isLong),
    extras: {
      binds,
      labels: { [BOX_LABEL]: box, ...(kept ? { [KEEP_LABEL]: 'true' } : {}) },
      user,
    },
    parts: {
      ...rest,
      limits: {
        ...engine.limits,
        readOnlyRoot: engine.limits.readOnlyRoot || input.read_only,
        networkMode: input.network === 'open' ? parts.network : 'none',
        tmpBytes: Math.min(engine.limits.tmpBytes, limits.disk_bytes ?? engine.limits.tmpBytes),
      },
      ...(kept || onEnd === undefined ? {} : { onEnd }),
    },
    // The token opens the gateway: it is no output either.
    secrets: [...secrets, token],
  };
}

function containerOf(
  { execution_id, image_pull_policy, bootstrap_path, prompt, mounts, read_only: readOnly, limits }: AgentContainerInput,
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
    command:
      bootstrap_path === null || bootstrap_path === undefined
        ? ['/bin/sh', BOOTSTRAP, ...argument]
        : [bootstrap_path, ...argument],
    shell: false,
    env: { ...env },
    workdir: '/workspace',
    mounts: mounts.map(({ volume_id, mount_path, read_only }) => ({
      ...{ volume_id, mount_path },
      read_only: read_only || readOnly,
    })),
    timeout_ms: limits.timeout_ms,
    ...(limits.memory_bytes === null || limits.memory_bytes === undefined ? {} : { memory_bytes: limits.memory_bytes }),
    ...(limits.cpu_millicores === null || limits.cpu_millicores === undefined
      ? {}
      : { cpu_millicores: limits.cpu_millicores }),
  };
}

/** What an agent is told is not for the commands of its model: they see as much of it as where the node runs them. */
const privateNames = (told: Readonly<Record<string, string>>): string =>
  [...Object.keys(told), 'SVC_PROMPT_FILE'].filter((name) => name !== 'PATH').join(' ');

/** A node that is an ordinary user shares volumes with its containers by being the same. */
function defaultUser(): string {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return uid === 0 ? USER : `${uid}:${gid}`;
}

/** Makes the volumes that are to be made, and lets the container's user write into what this node has made as root. */
async function shareVolumes(
  { volumes }: EngineParts,
  { mounts }: AgentContainerInput,
  { tenant }: ContainerOwner,
  user: string,
): Promise<void> {
  for (const { volume_id, read_only, create } of mounts) {
    const { directory } = await volumes.open(tenant, volume_id, { create });
    if (!read_only) await giveAway(directory, user);
  }
}

export interface AgentContainerParts {
  /** Those of `container.run` on this node. */
  readonly containers: ContainerParts;
  /** Directory of this node for mailboxes; the engine sees the same file system. Nobody else may enter it. */
  readonly directory: string;
  /** Content of `spec.runtime.bootstrap_script`; null: the node's own bootstrap. */
  readonly script: Buffer | null;
  /** The inner loop, asked for what comes out of mailboxes. */
  readonly gateway: AgentGateway;
  readonly tokens: Pick<ExecutionTokens, 'issue'>;
  /** Of the internal listener, as containers with a network reach it; null: it is not served. */
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
  /** Of agents that name nothing. */
  readonly defaultImage: string;
}

/**
 * The image of an agent and what its bootstrap is told. A pair the table does not have is refused with
 * `unsupported_runtime`: the node that took the start may have had another table.
 */
function runtimeOf(
  settings: RuntimeSettings,
  asked: AskedRuntime & { readonly image?: string | null | undefined },
): Pick<Runtime, 'image' | 'env'> {
  const plain = (name: string) => ({ image: name, env: {} });
  if (asked.image !== undefined && asked.image !== null) return plain(asked.image);
  const found = findRuntime(runtimeTable(settings.runtimes), asked);
  if (!found.ok) throw new SvcError('unsupported_runtime', found.message, { field: 'spec.runtime.version' });
  return found.runtime ?? plain(settings.defaultImage);
}
