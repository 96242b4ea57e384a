import type { ContainerCreateOptions } from 'dockerode';
import type { KnownVolume } from '../../manifests/known-volume.ts';
import type { ContainerInput } from './input.ts';
import { type ContainerOwner, containerName, labelsOf } from './labels.ts';
import type { ContainerExtras, ContainerLimits } from './settings.ts';

export interface MountedVolume {
  readonly id: string;
  readonly directory: string;
  readonly path: string;
  readonly readOnly: boolean;
  readonly sizeLimitBytes: number | null;
  readonly known: KnownVolume;
}

export interface CreateRequest {
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
