import type { Logger } from 'pino';
import type { ActorDefinition } from '../runtime/define-actor.ts';
import type { EffectHandler } from '../runtime/effect.ts';
import type { KeySource } from '../security/encryption/key-source.ts';

/** The input of a node's start. */
export interface NodeInput {
  /** Values by long flag name without dashes. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For embedding: the destination of the log. Default: standard error. */
  readonly logger?: Logger;
  /** For embedding: additional actor kinds and effects (docs/guides/adding-an-actor.md). */
  readonly actors?: readonly ActorDefinition[];
  readonly effects?: readonly EffectHandler[];
  /** For embedding: a key management service that encrypts secrets, in place of `spec.secrets.keys`. */
  readonly secretKeys?: KeySource;
}

/** A running node. */
export interface Node {
  readonly id: string;
  readonly restUrl: string;
  readonly grpcAddress: string;
  /** URL for agents' programs: dispatch gateway and SEAL (S5). */
  readonly internalUrl: string;
  readonly internalGrpcAddress: string;
  /** `host:port` at which other nodes reach NodeClusterService; null unless `spec.cluster.enabled`. */
  readonly clusterAddress: string | null;
  /** Lines for the person who starts the node: where data is kept, how durable it is, who may call. */
  readonly notes: readonly string[];
  /** Refuses new calls, lets running turns commit and releases everything. */
  stop(): Promise<void>;
  /** Resolves when the node has stopped, also when an operator stopped it. */
  readonly stopped: Promise<void>;
}
