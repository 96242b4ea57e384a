import type { KeyObject } from 'node:crypto';
import type { ChannelCredentials, ServiceError } from '@grpc/grpc-js';
import {
  ForwardExecutionRequest,
  PushConfigRequest,
  type PushConfigResponse,
} from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { ExecutionEvent } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { callFailure, type SealedCall, sealCall } from './channel.ts';
import { askOne, type Called, metadataOf } from './controllers.ts';
import { configHash } from './managed-config.ts';
import { createPeerChannels, type Peer } from './peer-channels.ts';

const PUSH_TIMEOUT_MS = 5_000;

export interface ClusterCallsParts {
  readonly credentials: ChannelCredentials;
  /** The token of this node; called for each call. */
  readonly nodeToken: () => Promise<string>;
  readonly privateKey: KeyObject;
  readonly clock?: Clock;
  /** Maximum number of nodes called at the same time. Default 256. */
  readonly maxPeers?: number;
  /** How long an idle connection is kept. Default 5 min. */
  readonly idleMs?: number;
}

interface ForwardOptions {
  /** Tenant of the execution (G29). Default: that of the system. */
  readonly tenant?: string;
  readonly signal?: AbortSignal;
}

/** Calls from this node to others (G29, G30). Errors are SvcErrors. */
export interface ClusterCalls {
  /**
   * Starts an execution on a worker and returns its events as they arrive. Ending the iteration or aborting the signal ends the
   * stream, not the execution. Throws `unavailable` when the worker is lost; the execution continues on another node.
   */
  forward(to: Peer, request: ForwardExecutionRequest, options?: ForwardOptions): AsyncIterable<ExecutionEvent>;
  /** Sends a configuration to a node. Returns whether it was accepted, with the reason of a rejection. */
  pushConfig(to: Peer, yaml: string): Promise<{ readonly accepted: boolean; readonly reason: string | null }>;
  /** Number of open connections to other nodes. */
  connections(): number;
  close(): void;
}

export function createClusterCalls(parts: ClusterCallsParts): ClusterCalls {
  const { clock = systemClock } = parts;
  const peers = createPeerChannels({ ...parts, clock });
  const sealed = async (
    method: string,
    payload: Uint8Array,
    metadata: Readonly<Record<string, string>> = {},
  ): Promise<SealedCall> =>
    sealCall({ method, token: await parts.nodeToken(), privateKey: parts.privateKey, payload, metadata });

  return {
    async *forward(to, request, { tenant, signal } = {}) {
      const inTenant: Record<string, string> = tenant === undefined ? {} : { 'x-tenant-id': tenant };
      const call = await sealed('ForwardExecution', ForwardExecutionRequest.encode(request).finish(), inTenant);
      const peer = peers.use(to);
      const before = peer.receiver.now();
      try {
        try {
          yield* forwarded(call, { peer, at: to.grpcAddress, to: before }, signal);
        } catch (thrown) {
          // A call that is refused for its proof has started nothing and sent no event.
          if (!(thrown instanceof SvcError) || !peer.receiver.isWorthAnother(thrown, before)) throw thrown;
          yield* forwarded(call, { peer, at: to.grpcAddress, to: peer.receiver.now() }, signal);
        }
      } finally {
        peer.release();
      }
    },
    async pushConfig(to, yaml) {
      const request = { config_yaml: yaml, config_hash: configHash(yaml) };
      const { envelope, ...shown } = await sealed('PushConfig', PushConfigRequest.encode(request).finish());
      const peer = peers.use(to);
      try {
        const answer = await askOne<PushConfigResponse>(
          peer,
          (client, ...rest) => client.pushConfig(envelope, ...rest),
          { ...shown, timeoutMs: PUSH_TIMEOUT_MS },
          (error) => callFailure(error, 'PushConfig', to.grpcAddress),
        );
        const reason = answer.accepted ? null : (answer.rejection_reason ?? 'the node gives no reason');
        return { accepted: answer.accepted, reason };
      } finally {
        peer.release();
      }
    },
    connections: () => peers.size,
    close: () => peers.close(),
  };
}

/** One attempt of ForwardExecution with a proof for `to`. */
async function* forwarded(
  { envelope, metadata, prove }: SealedCall,
  on: { readonly peer: Called; readonly at: string; readonly to: ReturnType<Called['receiver']['now']> },
  signal: AbortSignal | undefined,
): AsyncIterable<ExecutionEvent> {
  const { client, receiver } = on.peer;
  const stream = client.forwardExecution(envelope, metadataOf({ ...metadata, ...(await prove(on.to)) }));
  const cancel = (): void => stream.cancel();
  // The iteration below throws the error; this listener handles errors after its end.
  stream.on('error', () => {});
  stream.on('status', ({ metadata: trailers }) => receiver.update(trailers));
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted === true) cancel();
  try {
    yield* stream as AsyncIterable<ExecutionEvent>;
  } catch (thrown) {
    if (!isServiceError(thrown)) throw thrown;
    receiver.update(thrown.metadata);
    const error = callFailure(thrown, 'ForwardExecution', on.at);
    // A server that shuts down cancels its streams. A cancel that was not requested here means that the server has stopped.
    const isEnd = error.code === 'cancelled' && signal?.aborted !== true;
    throw isEnd ? new SvcError('unavailable', error.message) : error;
  } finally {
    signal?.removeEventListener('abort', cancel);
    cancel();
  }
}

const isServiceError = (thrown: unknown): thrown is ServiceError =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number' && 'details' in thrown;
