import type { Address } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secrets } from '../../security/api.ts';
import type { VolumeDirectories, VolumeFiles, VolumeHolds } from '../../usecases/ports/volumes.ts';
import type { ContainerEngine } from './engine.ts';
import type { ContainerNetworks } from './networks.ts';
import type { ResolveRegistry } from './registries.ts';
import type { ContainerStarts, ContainerState } from './state.ts';

/** The effect a container runs for. Stored as labels of the container, so that every node of the engine can read it. */
export interface ContainerOwner {
  readonly tenant: string;
  readonly executionId: string;
  readonly effectId: string;
  /** The actor that requested the effect. */
  readonly address: Address;
}

/** Settings for all containers of a node (`spec.runtime.containers`, `spec.runtime.container_network_mode`). */
export interface ContainerLimits {
  readonly networkMode: string;
  readonly pids: number;
  /** Default for steps that set none. */
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly readOnlyRoot: boolean;
  /** `uid[:gid]` instead of the image's user. */
  readonly user?: string | undefined;
  /** Size of the tmpfs at /tmp. */
  readonly tmpBytes: number;
  /** A container with more output is killed: the engine stores all of it on its disk. */
  readonly outputBytes: number;
  /** Pulls every image unless its policy is `Never`: for nodes whose tenants must not share images. */
  readonly alwaysPull: boolean;
  /** Registries that images are pulled from: `host`, `host:port` or `*.domain`. Absent: all of them. */
  readonly registries?: readonly string[] | undefined;
}

/** Additions for one kind of containers. Nothing of it comes from a manifest. */
export interface ContainerExtras {
  /** Directories of this node. */
  readonly binds: readonly { readonly directory: string; readonly path: string; readonly readOnly: boolean }[];
  readonly labels: Readonly<Record<string, string>>;
  /** For images without a user, if `limits.user` is not set. */
  readonly user: string;
  /** Called before the container is started, or when it was started by an earlier attempt. */
  readonly onContainer: (state: ContainerState) => Promise<void>;
  /** Gets standard output of a container that this attempt has started. */
  readonly onStdout: ((chunk: Buffer) => void) | null;
}

export interface ContainerParts {
  /** Null: no engine is configured and no well-known socket exists. */
  readonly engine: ContainerEngine | null;
  readonly limits: ContainerLimits;
  readonly extras?: ContainerExtras;
  /** Networks that the node's listeners refuse; absent: no listeners. */
  readonly networks?: ContainerNetworks;
  readonly volumes: VolumeDirectories & VolumeHolds & { readonly files?: Pick<VolumeFiles, 'write'> };
  readonly secrets: Secrets;
  readonly starts: ContainerStarts;
  /** Whether the effect is still open. Only containers of closed effects are removed. */
  readonly isWanted: (owner: ContainerOwner) => Promise<boolean>;
  readonly node: string;
  /** Id of the installation, equal on all nodes with the same stores. Containers of other realms are never touched. */
  readonly realm: string;
  readonly clock: Clock;
  /** Called at the end of each attempt, so that an unwanted container is removed soon (`ContainerSweep.soon`). */
  readonly onEnd?: (owner: ContainerOwner) => void;
  readonly warn: (message: string, error: unknown) => void;
  /** Interval of the quota checks of mounted volumes. */
  readonly quotaEveryMs?: number;
  /** How long a start by an earlier attempt can still be under way in the engine. */
  readonly startSettleMs?: number;
  /** Resolves the names of registries; absent: as the system does. */
  readonly resolveRegistry?: ResolveRegistry;
}

export type EngineParts = ContainerParts & { readonly engine: ContainerEngine };
