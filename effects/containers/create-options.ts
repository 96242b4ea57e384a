import { createHash } from 'node:crypto';
import type { ContainerCreateOptions } from 'dockerode';
import type { KnownVolume } from '../../manifests/metadata.ts';
import { addressOf, parseAddress } from '../../runtime/address.ts';
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

/** The container of one effect: hardened, with nothing of the node in it but the volumes it names. */
export function createOptions(request: CreateRequest): ContainerCreateOptions & { readonly name: string } {
  const { input, owner } = request;
  const command = input.shell ? ['sh', '-c', input.command.join(' ')] : [...input.command];
  return {
    name: containerName(owner.effectId),
    Image: input.image,
    Entrypoint: command,
    Cmd: [],
    Env: Object.entries(input.env).map(([name, value]) => `${name}=${value}`),
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

const NOBODY = '65534:65534';

/** A sealed one without volumes is nobody; with them it is who may read them: root of no capabilities where nothing else is said. */
function userOf({ input, limits, mounts }: CreateRequest): Pick<ContainerCreateOptions, 'User'> {
  if (limits.user !== undefined) return { User: limits.user };
  return input.sealed === true && mounts.length === 0 ? { User: NOBODY } : {};
}

function hostConfig(request: CreateRequest): NonNullable<ContainerCreateOptions['HostConfig']> {
  const { input, limits, mounts } = request;
  const memory = input.memory_bytes ?? limits.memoryBytes;
  // Engines refuse more processors than the machine has.
  const millicores = Math.min(input.cpu_millicores ?? limits.cpuMillicores, request.cpus * 1_000);
  return {
    NetworkMode: input.sealed === true ? 'none' : limits.networkMode,
    Privileged: false,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    ReadonlyRootfs: input.sealed === true || limits.readOnlyRoot,
    Init: request.init,
    Memory: memory,
    // The same as Memory: no swap on top.
    MemorySwap: memory,
    NanoCpus: millicores * 1_000_000,
    PidsLimit: limits.pids,
    // Named, because engines start no container with limits above those of their own process.
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
    // A log that can be read back, whatever the engine's default: a node that adopts the container needs it.
    LogConfig: { Type: 'json-file', Config: {} },
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
  };
}

export const EFFECT_LABEL = 'dev.svc.effect';

export const REALM_LABEL = 'dev.svc.realm';

/** The node leaves the container to whoever wants to look into it. */
export const KEEP_LABEL = 'dev.svc.keep';

const TENANT_LABEL = 'dev.svc.tenant';

const EXECUTION_LABEL = 'dev.svc.execution';

const ADDRESS_LABEL = 'dev.svc.address';

const NODE_LABEL = 'dev.svc.node';

/** One name per effect: the engine itself refuses a second container for it. */
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

/** Null for a container that carries other labels. */
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
