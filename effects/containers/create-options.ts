import { createHash } from 'node:crypto';
import type { ContainerCreateOptions } from 'dockerode';
import type { KnownVolume } from '../../manifests/metadata.ts';
import { addressOf, parseAddress } from '../../runtime/address.ts';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import { traceVariables } from '../../runtime/tracing/trace-context.ts';
import type { ContainerInput } from './input.ts';
import type { ContainerExtras, ContainerLimits, ContainerOwner } from './settings.ts';

export interface MountedVolume {
  readonly id: string;
  readonly directory: string;
  readonly path: string;
  readonly readOnly: boolean;
  readonly sizeLimitBytes: number | null;
  readonly known: KnownVolume;
}

interface CreateRequest {
  readonly input: ContainerInput;
  readonly owner: ContainerOwner;
  readonly realm: string;
  readonly node: string;
  readonly limits: ContainerLimits;
  readonly mounts: readonly MountedVolume[];
  readonly cpus: number;
  readonly init: boolean;
  readonly extras?: ContainerExtras | undefined;
}

const SIGKILL = 'SIGKILL';

/** The options of one effect's container: hardened, and with nothing of the node except the volumes it names. */
export function createOptions(request: CreateRequest): ContainerCreateOptions & { readonly name: string } {
  const { input, owner } = request;
  const command = input.shell ? ['sh', '-c', input.command.join(' ')] : [...input.command];
  return {
    name: containerName(owner.effectId),
    Image: input.image,
    Entrypoint: command,
    Cmd: [],
    Env: Object.entries({ ...traceVariables(outgoingTrace()), ...input.env }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    WorkingDir: input.workdir,
    Labels: { ...request.extras?.labels, ...labelsOf(owner, request.realm, request.node) },
    StopSignal: SIGKILL,
    Tty: false,
    OpenStdin: false,
    AttachStdin: false,
    ...userOf(request),
    HostConfig: hostConfig(request),
  };
}

const UNPRIVILEGED = '65534:65534';

/** A sealed container without volumes runs as user 65534. With volumes it must be able to read them: root without capabilities by default. */
function userOf({ input, limits, mounts }: CreateRequest): Pick<ContainerCreateOptions, 'User'> {
  if (limits.user !== undefined) return { User: limits.user };
  return input.sealed === true && mounts.length === 0 ? { User: UNPRIVILEGED } : {};
}

function hostConfig(request: CreateRequest): NonNullable<ContainerCreateOptions['HostConfig']> {
  const { input, limits, mounts } = request;
  const memory = input.memory_bytes ?? limits.memoryBytes;
  // Engines reject more processors than the machine has.
  const millicores = Math.min(input.cpu_millicores ?? limits.cpuMillicores, request.cpus * 1_000);
  return {
    NetworkMode: input.sealed === true ? 'none' : limits.networkMode,
    Privileged: false,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    ReadonlyRootfs: input.sealed === true || limits.readOnlyRoot,
    Init: request.init,
    Memory: memory,
    // Equal to Memory: no swap.
    MemorySwap: memory,
    NanoCpus: millicores * 1_000_000,
    PidsLimit: limits.pids,
    // Explicit, because engines reject limits above those of their own process.
    Ulimits: [
      { Name: 'nofile', Soft: 1_024, Hard: 4_096 },
      { Name: 'nproc', Soft: 1_024, Hard: 4_096 },
      { Name: 'core', Soft: 0, Hard: 0 },
    ],
    Tmpfs: { '/tmp': `rw,nosuid,nodev,mode=1777,size=${limits.tmpBytes}` },
    Mounts: [...mounts, ...(request.extras?.binds ?? [])].map(({ directory, path, readOnly }) => ({
      Type: 'bind',
      Source: directory,
      Target: path,
      ReadOnly: readOnly,
    })),
    // A log that can be read back whatever the engine's default is: a node that adopts the container needs it.
    LogConfig: { Type: 'json-file', Config: {} },
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
  };
}

export const EFFECT_LABEL = 'dev.svc.effect';

export const REALM_LABEL = 'dev.svc.realm';

/** The sweep keeps the container for inspection. */
export const KEEP_LABEL = 'dev.svc.keep';

const TENANT_LABEL = 'dev.svc.tenant';

const EXECUTION_LABEL = 'dev.svc.execution';

const ADDRESS_LABEL = 'dev.svc.address';

const NODE_LABEL = 'dev.svc.node';

/** One name per effect: the engine rejects a second container of this name. */
export function containerName(effectId: string): string {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(effectId)) return `svc-${effectId}`;
  return `svc-${createHash('sha256').update(effectId).digest('hex')}`;
}

function labelsOf(owner: ContainerOwner, realm: string, node: string): Record<string, string> {
  return {
    [EFFECT_LABEL]: owner.effectId,
    [TENANT_LABEL]: owner.tenant,
    [EXECUTION_LABEL]: owner.executionId,
    [ADDRESS_LABEL]: owner.address,
    [NODE_LABEL]: node,
    [REALM_LABEL]: realm,
  };
}

/** The effect of a container by its labels; null for a container that no effect has created. */
export function ownerOf(labels: Readonly<Record<string, string>>): ContainerOwner | null {
  const effectId = labels[EFFECT_LABEL];
  const tenant = labels[TENANT_LABEL];
  const executionId = labels[EXECUTION_LABEL];
  const address = labels[ADDRESS_LABEL];
  if (effectId === undefined || tenant === undefined || executionId === undefined) return null;
  if (address === undefined) return null;
  try {
    const { kind, tenant: of, id } = parseAddress(address);
    return { tenant, executionId, effectId, address: addressOf(kind, of, id) };
  } catch {
    return null;
  }
}

/** A reason of the engine without paths of this host. */
export function withoutDirectories(
  reason: string,
  mounts: readonly MountedVolume[],
  binds: ContainerExtras['binds'] = [],
): string {
  const named = mounts.reduce((text, { directory, id }) => text.replaceAll(directory, `volume ${id}`), reason);
  return binds.reduce((text, { directory, path }) => text.replaceAll(directory, path), named);
}
