import {
  DeregisterNodeRequest,
  type DeregisterNodeResponse,
  HeartbeatRequest,
  type HeartbeatResponse,
  type NodeCapabilityAdvertisement,
  type NodeCommand,
  NodePeerStatus,
  RegisterNodeRequest,
  type RegisterNodeResponse,
  type SealNodeEnvelope,
  SyncConfigRequest,
  type SyncConfigResponse,
} from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Attestant, attest, type NodeToken } from './attestation.ts';
import { GRPC_ADDRESS_KEY, sealCall } from './channel.ts';
import type { Asking, Controllers, UnaryCall } from './controllers.ts';

/** The content of a heartbeat. */
interface Beat {
  readonly activeExecutions: number;
  readonly cpuPercent: number;
  readonly memoryPercent: number;
  readonly draining: boolean;
}

interface PeerSessionOptions {
  readonly attestant: Attestant;
  readonly controllers: Controllers;
  /** `host:port` of this node's own NodeClusterService. */
  readonly grpcAddress: string;
  /** The current offer of the node. When it differs from the registered one, the node registers again. */
  readonly capabilities: () => NodeCapabilityAdvertisement;
  readonly tokenRefreshMarginMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly renewalFailed: (error: SvcError) => void;
  /** Called when a heartbeat got no answer; the commands in it are lost. */
  readonly beatUnanswered: () => void;
}

const MIN_RENEWAL_MS = 1_000;
const DEREGISTER_MS = 2_000;

/** The token and the registration of a node with its controllers. Each is renewed when it is lost. */
export class PeerSession {
  readonly #options: PeerSessionOptions;
  #token: NodeToken | null = null;
  /** `clock.monotonic()` from which the token is renewed. */
  #renewAt = 0;
  #peerId: string | null = null;
  #registered = '';
  #mayBeRegistered = false;

  constructor(options: PeerSessionOptions) {
    this.#options = options;
  }

  get peerId(): string | null {
    return this.#peerId;
  }

  get hasToken(): boolean {
    return this.#token !== null;
  }

  /** Milliseconds until the token should be renewed. */
  renewInMs(): number {
    return Math.max(0, this.#renewAt - this.#options.clock.monotonic());
  }

  forgetToken(): void {
    this.#token = null;
  }

  forgetRegistration(): void {
    this.#peerId = null;
  }

  /**
   * Makes sure that the token is valid for a while. While the old token is valid, a failed renewal is logged and retried later.
   * A renewal keeps the registration.
   */
  async attested(): Promise<void> {
    const { clock, renewalFailed } = this.#options;
    const token = this.#token;
    if (token !== null && clock.monotonic() < this.#renewAt) return;
    try {
      await this.#attest();
    } catch (thrown) {
      if (token === null || clock.monotonic() >= token.expiresAt || this.#options.signal.aborted) throw thrown;
      this.#renewAt = clock.monotonic() + Math.max(MIN_RENEWAL_MS, (token.expiresAt - clock.monotonic()) / 4);
      renewalFailed(toSvcError(thrown));
    }
  }

  async #attest(): Promise<void> {
    const { attestant, controllers, clock, signal, tokenRefreshMarginMs } = this.#options;
    const token = await attest(attestant, controllers, clock, signal);
    // Otherwise a token that is valid for less than the margin would be renewed constantly.
    const useMs = Math.max(token.lifetimeMs - tokenRefreshMarginMs, token.lifetimeMs / 2, MIN_RENEWAL_MS);
    this.#token = token;
    this.#renewAt = token.expiresAt - token.lifetimeMs + useMs;
  }

  /** Registers, unless the controllers have the current offer of this node. Returns true when it registered. */
  async registered(): Promise<boolean> {
    const capabilities = this.#options.capabilities();
    const text = JSON.stringify(capabilities);
    if (this.#peerId !== null && this.#registered === text) return false;
    const payload = RegisterNodeRequest.encode({ capabilities }).finish();
    this.#mayBeRegistered = true;
    const metadata = { [GRPC_ADDRESS_KEY]: this.#options.grpcAddress };
    const { peer_id } = await this.#ask<RegisterNodeResponse>(
      'RegisterNode',
      payload,
      (envelope) => ({ call: (client, ...rest) => client.registerNode(envelope, ...rest) }),
      metadata,
    );
    this.#peerId = peer_id;
    this.#registered = text;
    return true;
  }

  async beat(beat: Beat): Promise<readonly NodeCommand[]> {
    const payload = HeartbeatRequest.encode({
      peer_id: this.#peerId ?? '',
      active_execution_count: Math.max(0, Math.trunc(beat.activeExecutions)),
      cpu_utilization_percent: beat.cpuPercent,
      memory_utilization_percent: beat.memoryPercent,
      status: beat.draining ? NodePeerStatus.DRAINING : NodePeerStatus.ACTIVE,
    }).finish();
    const { commands } = await this.#ask<HeartbeatResponse>('Heartbeat', payload, (envelope) => ({
      call: (client, ...rest) => client.heartbeat(envelope, ...rest),
      unanswered: this.#options.beatUnanswered,
    }));
    return commands;
  }

  async config(): Promise<SyncConfigResponse> {
    return await this.#ask<SyncConfigResponse>('SyncConfig', SyncConfigRequest.encode({}).finish(), (envelope) => ({
      call: (client, ...rest) => client.syncConfig(envelope, ...rest),
    }));
  }

  /** Deregisters when the node may be registered, within 2 s, even when the signal is aborted. */
  async deregister(reason: string): Promise<void> {
    if (!this.#mayBeRegistered || this.#token === null) return;
    const request = { node_id: this.#options.attestant.nodeId, reason };
    await this.#ask<DeregisterNodeResponse>(
      'DeregisterNode',
      DeregisterNodeRequest.encode(request).finish(),
      (envelope) => ({
        call: (client, ...rest) => client.deregisterNode(envelope, ...rest),
        timeoutMs: DEREGISTER_MS / 2,
        roundTimeoutMs: DEREGISTER_MS,
        signal: null,
      }),
    );
    this.#mayBeRegistered = false;
  }

  /** Makes a call with the sealed payload, the token in the metadata (G21) and a proof. */
  async #ask<Answer>(
    method: string,
    payload: Uint8Array,
    prepare: (envelope: SealNodeEnvelope) => PreparedCall<Answer>,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const token = this.#token;
    if (token === null) throw new SvcError('unauthenticated', `${method}: the node has no node token yet`);
    const { privateKey } = this.#options.attestant.key;
    const { envelope, metadata, prove } = sealCall({ method, token: token.text, privateKey, payload, metadata: more });
    const { call, signal, ...limits } = prepare(envelope);
    return await this.#options.controllers.ask(method, call, {
      ...limits,
      metadata,
      prove,
      ...(signal === null ? {} : { signal: this.#options.signal }),
    });
  }
}

type PreparedCall<Answer> = Omit<Asking, 'signal' | 'metadata' | 'prove'> & {
  readonly call: UnaryCall<Answer>;
  /** Null: the call continues when the session ends. */
  readonly signal?: null;
};
