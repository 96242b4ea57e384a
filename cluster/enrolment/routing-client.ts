import type { KeyObject } from 'node:crypto';
import type { ChannelCredentials, ServiceError } from '@grpc/grpc-js';
import {
  ForwardExecutionRequest,
  type NodeCapabilityAdvertisement,
  PushConfigRequest,
  type PushConfigResponse,
  RouteExecutionRequest,
  type RouteExecutionResponse,
} from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { ExecutionEvent } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { callFailure } from './call-failure.ts';
import { configHash } from './config-sync.ts';
import { askOne, type Controllers, metadataOf } from './controllers.ts';
import { createPeerChannels } from './peer-channels.ts';
import { seal } from './seal.ts';

const PUSH_TIMEOUT_MS = 5_000;

export interface ClusterCallsParts {
  /** Who is asked for routes; null on a controller, which knows them itself. */
  readonly controllers: Controllers | null;
  readonly credentials: ChannelCredentials;
  /** The token of this node; asked for with each call. */
  readonly nodeToken: () => Promise<string>;
  readonly privateKey: KeyObject;
  readonly clock?: Clock;
  /** Most nodes that are called at once. Default 256. */
  readonly maxPeers?: number;
  /** How long an unused connection is kept. Default 5 min. */
  readonly idleMs?: number;
}

/** Calls from this node to others (spec 1: RouteExecution, ForwardExecution, PushConfig). Errors are SvcErrors. */
export interface ClusterCalls {
  /** Which worker takes an execution. `unavailable` and `no_capable_worker` as the controllers answer. */
  route(
    executionId: string,
    required: Partial<NodeCapabilityAdvertisement>,
  ): Promise<{ readonly nodeId: string; readonly grpcAddress: string }>;
  /**
   * Starts an execution on the worker at `host:port` and gives its events as they come. Ending the iteration or the
   * signal ends the stream, not the execution. `unavailable` when the worker is gone: the execution lives on elsewhere.
   */
  forward(address: string, request: ForwardExecutionRequest, signal?: AbortSignal): AsyncIterable<ExecutionEvent>;
  /** What the node at `host:port` says to a configuration; the reason when it does not take it. */
  pushConfig(address: string, yaml: string): Promise<{ readonly accepted: boolean; readonly reason: string | null }>;
  /** Open connections to other nodes. */
  connections(): number;
  close(): void;
}

export function createClusterCalls(parts: ClusterCallsParts): ClusterCalls {
  const { clock = systemClock, controllers } = parts;
  const peers = createPeerChannels({ ...parts, clock });
  const sealed = async (payload: Uint8Array) => {
    const token = await parts.nodeToken();
    return {
      envelope: seal(token, parts.privateKey, payload),
      metadata: { authorization: `Bearer ${token}` },
    };
  };

  return {
    async route(executionId, required) {
      if (controllers === null) throw new SvcError('failed_precondition', 'this node was told of no controllers');
      const request = { execution_id: executionId, required: { ...NO_MINIMUM, ...required } };
      const { envelope, metadata } = await sealed(RouteExecutionRequest.encode(request).finish());
      const { target_node_id, worker_grpc_address } = await controllers.ask<RouteExecutionResponse>(
        'RouteExecution',
        (client, ...rest) => client.routeExecution(envelope, ...rest),
        { metadata },
      );
      return { nodeId: target_node_id, grpcAddress: worker_grpc_address };
    },
    async *forward(address, request, signal) {
      const { envelope, metadata } = await sealed(ForwardExecutionRequest.encode(request).finish());
      const peer = peers.use(address);
      const stream = peer.client.forwardExecution(envelope, metadataOf(metadata));
      const cancel = (): void => stream.cancel();
      // The iteration below throws the error; after its end nobody asks for one any more.
      stream.on('error', () => {});
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted === true) cancel();
      try {
        yield* stream as AsyncIterable<ExecutionEvent>;
      } catch (thrown) {
        if (!isServiceError(thrown)) throw thrown;
        const error = callFailure(thrown, 'ForwardExecution', address);
        // A server that is shut down cancels its streams; a cancel that nobody here asked for is its end.
        const isEnd = error.code === 'cancelled' && signal?.aborted !== true;
        throw isEnd ? new SvcError('unavailable', error.message) : error;
      } finally {
        signal?.removeEventListener('abort', cancel);
        cancel();
        peer.release();
      }
    },
    async pushConfig(address, yaml) {
      const request = { config_yaml: yaml, config_hash: configHash(yaml) };
      const { envelope, metadata } = await sealed(PushConfigRequest.encode(request).finish());
      const peer = peers.use(address);
      try {
        const answer = await askOne<PushConfigResponse>(
          peer.client,
          (client, ...rest) => client.pushConfig(envelope, ...rest),
          { metadata, timeoutMs: PUSH_TIMEOUT_MS },
          (error) => callFailure(error, 'PushConfig', address),
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

const NO_MINIMUM: NodeCapabilityAdvertisement = {
  gpu_count: 0,
  vram_gb: 0,
  cpu_cores: 0,
  available_memory_gb: 0,
  supported_runtimes: [],
  tags: [],
};

const isServiceError = (thrown: unknown): thrown is ServiceError =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number' && 'details' in thrown;
