import type { ManagedProvider } from '../../manifests/node/managed-providers.ts';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import { counted } from '../../runtime/kit/counted.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';

type Isolation = NodeSettings['runtime']['default_isolation'];

type LogLevel = NodeSettings['observability']['logging']['level'];

/** Controls of a running node, for operators, commands of controllers and managed configuration. */
export interface NodeControls {
  readonly draining: boolean;
  /** Current tags; may differ from the node's settings. */
  readonly tags: readonly string[];
  readonly isolation: Isolation;
  /** Hands all partitions over and takes no new work until the process ends. */
  drain(): Promise<void>;
  /** Stops the process cleanly. */
  shutDown(reason: string): void;
  /** Null restores the node's setting. */
  setTags(tags: readonly string[] | null): Promise<void>;
  setLogLevel(level: LogLevel | null): void;
  setDefaultIsolation(isolation: Isolation | null): void;
  /** Uses these providers of models besides the node's own, and announces its capabilities with them. Throws `unavailable`. */
  setProviders(providers: readonly ManagedProvider[]): Promise<void>;
}

export function createNodeControls(parts: {
  readonly fleet: Pick<FleetPlacement, 'drain' | 'setTags' | 'changeInfo'>;
  /** Uses the providers; returns the capabilities of the node with them. */
  readonly onProviders: (providers: readonly ManagedProvider[]) => readonly string[];
  readonly settings: NodeSettings;
  readonly logger: { level: string; info(about: object, message: string): void };
  readonly onShutDown: (reason: string) => void;
}): NodeControls {
  const { fleet, settings, logger, onShutDown, onProviders } = parts;
  let draining = false;
  let tags: readonly string[] = settings.node.tags;
  let isolation: Isolation = settings.runtime.default_isolation;
  return {
    get draining() {
      return draining;
    },
    get tags() {
      return tags;
    },
    get isolation() {
      return isolation;
    },
    async drain() {
      if (!draining) logger.info({ event: 'drain' }, 'the node drains: it hands its partitions over');
      draining = true;
      await fleet.drain();
    },
    shutDown: onShutDown,
    async setTags(wanted) {
      const next = wanted ?? settings.node.tags;
      await fleet.setTags(next);
      tags = next;
    },
    setLogLevel(level) {
      logger.level = level ?? settings.observability.logging.level;
    },
    setDefaultIsolation(wanted) {
      isolation = wanted ?? settings.runtime.default_isolation;
    },
    async setProviders(providers) {
      await fleet.changeInfo({ capabilities: [...onProviders(providers)] });
    },
  };
}

/** Whether the node accepts new calls, and if not, why (/health/ready, the gRPC health service). */
export function readiness(
  runtime: Pick<Runtime, 'ready' | 'unread'>,
  controls: Pick<NodeControls, 'draining'>,
  stores: Pick<OpenStores, 'refusal'>,
): { readonly ready: true } | { readonly ready: false; readonly why: string } {
  if (controls.draining) return { ready: false, why: 'the node drains and takes no new work' };
  const unread = runtime.unread();
  if (unread.length > 0) return { ready: false, why: `messages wait unread in ${counted(unread.length, 'partition')}` };
  const refusal = stores.refusal();
  if (refusal !== null) return { ready: false, why: refusal };
  if (runtime.ready()) return { ready: true };
  return { ready: false, why: 'the node holds no lease: the store does not answer, or another process has its id' };
}
