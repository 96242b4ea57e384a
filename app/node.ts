import type { Logger } from 'pino';
import type { ActorDefinition } from '../runtime/define-actor.ts';
import type { EffectHandler } from '../runtime/effect.ts';

/** What a process is started from. */
export interface NodeInput {
  /** By long name without dashes. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For embedding: where the log goes. Default: standard error. */
  readonly logger?: Logger;
  /** For embedding: actor kinds and effects of one's own (docs/guides/adding-an-actor.md). */
  readonly actors?: readonly ActorDefinition[];
  readonly effects?: readonly EffectHandler[];
}

/** A running process. */
export interface Node {
  readonly id: string;
  readonly restUrl: string;
  readonly grpcAddress: string;
  /** For agents' programs: dispatch gateway, and SEAL beside it (S5). */
  readonly internalUrl: string;
  readonly internalGrpcAddress: string;
  /** `host:port` of NodeClusterService as others reach it; null unless `spec.cluster.enabled`. */
  readonly clusterAddress: string | null;
  /** Lines a person wants to read at the start: where data is kept, how durable, who is let in. */
  readonly notes: readonly string[];
  /** Refuses new calls, lets running turns commit, gives everything back. */
  stop(): Promise<void>;
  /** Resolves when it has stopped, also when an operator told it to. */
  readonly stopped: Promise<void>;
}
