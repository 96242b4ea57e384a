import type { Address } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secrets } from '../../security/api.ts';
import type { VolumeDirectories, VolumeHolds } from '../../usecases/ports/volumes.ts';
import type { ContainerEngine } from './engine.ts';
import type { ContainerNetworks } from './networks.ts';
import type { ContainerStarts, ContainerState } from './state.ts';

/** Who a container runs for; kept as labels of the container, so that any node with the engine can tell. */
export interface ContainerOwner {
  readonly tenant: string;
  readonly executionId: string;
  readonly effectId: string;
  /** Actor that asked for the effect. */
  readonly address: Address;
}

/** What every container of a node gets (`spec.runtime.containers`, `spec.runtime.container_network_mode`). */
export interface ContainerLimits {
  readonly networkMode: string;
  readonly pids: number;
  /** For steps that name none. */
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly readOnlyRoot: boolean;
  /** `uid[:gid]` instead of the image's user. */
  readonly user?: string | undefined;
  /** Size of the tmpfs at /tmp. */
  readonly tmpBytes: number;
  /** A container that writes more to stdout and stderr together is killed: the engine keeps it all on its disk. */
  readonly outputBytes: number;
  /** Pull every image, whatever the manifest says but for `Never`: for nodes whose tenants must not share images. */
  readonly alwaysPull: boolean;
}

/** What a kind of container has beside what its input says; nothing of it comes from a manifest. */
export interface ContainerExtras {
  /** Directories of this node. */
  readonly binds: readonly { readonly directory: string; readonly path: string; readonly readOnly: boolean }[];
  readonly labels: Readonly<Record<string, string>>;
  /** For images that name no user, where `limits.user` does not either. */
  readonly user: string;
  /** Before the container is started, and when it is found started by an earlier attempt. */
  readonly onContainer: (state: ContainerState) => Promise<void>;
  /** Standard output as it comes, from a container that this attempt has started. */
  readonly onStdout: ((chunk: Buffer) => void) | null;
}

export interface ContainerParts {
  /** Null: none is configured and no well-known socket exists. */
  readonly engine: ContainerEngine | null;
  readonly limits: ContainerLimits;
  readonly extras?: ContainerExtras;
  /** What the node's listeners refuse; absent: there are none. */
  readonly networks?: ContainerNetworks;
  readonly volumes: VolumeDirectories & VolumeHolds;
  readonly secrets: Secrets;
  readonly starts: ContainerStarts;
  /** Whether somebody waits for the effect. Containers are removed only when nobody does. */
  readonly isWanted: (owner: ContainerOwner) => Promise<boolean>;
  readonly node: string;
  /** Names the installation: nodes with the same stores have the same. Containers of others are never touched. */
  readonly realm: string;
  readonly clock: Clock;
  /** Told of the end of each attempt, so that a container nobody wants goes soon (`ContainerSweep.soon`). */
  readonly onEnd?: (owner: ContainerOwner) => void;
  readonly warn: (message: string, error: unknown) => void;
  /** Between two looks at the quotas of mounted volumes. */
  readonly quotaEveryMs?: number;
  /** How long an earlier attempt's start may still be under way in the engine. */
  readonly startSettleMs?: number;
  /** Longest pull of an image. */
  readonly pullTimeoutMs?: number;
}

export type EngineParts = ContainerParts & { readonly engine: ContainerEngine };
