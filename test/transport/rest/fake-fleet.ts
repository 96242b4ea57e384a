import { createHash } from 'node:crypto';
import type { Page, PageAsked } from '../../../runtime/documents/pages.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { ManagedConfig, NodePeer, NodePeerApi } from '../../../usecases/node-api.ts';
import type {
  ClusterApi,
  ClusterPlan,
  ClusterStatus,
  FleetChange,
  LocalNode,
  MemberStatus,
  PartitionLoad,
  PushAnswer,
  Takeover,
} from '../../../usecases/ports/cluster.ts';
import type { ChaosApi, Fault, FaultRequest } from '../../../usecases/ports/faults.ts';

const memberOf = (node: string, tags: string[] = [], draining = false): MemberStatus => ({
  node_id: node,
  incarnation: `${node}-life`,
  info: {
    role: 'worker',
    tags,
    weight: 1,
    draining,
    version: '0.1.0',
    startedAt: Date.UTC(2026, 0, 2),
    pulse: null,
    clusterAddress: null,
    restUrl: `http://${node}:8080`,
  },
  partitions: { default: 32 },
});

const peerOf = (node: string, status: NodePeer['status'] = 'ACTIVE', tags: string[] = []): NodePeer => ({
  node_id: node,
  role: 'WORKER',
  capabilities: {
    gpu_count: 1,
    vram_gb: 24,
    cpu_cores: 8,
    available_memory_gb: 64,
    supported_runtimes: ['docker'],
    tags,
  },
  last_heartbeat_at: '2026-01-02T00:00:30.000Z',
  status,
  grpc_address: `${node}:50056`,
  peer_id: `peer-${node}`,
  active_execution_count: 0,
  cpu_utilization_percent: 0,
  memory_utilization_percent: 0,
  pending_commands: [],
});

/** A fleet in memory that records its calls. */
export class FakeCluster implements ClusterApi {
  readonly done: string[] = [];
  fleet: ClusterStatus = {
    members: [memberOf('alpha'), memberOf('beta', ['gpu'], true)],
    pools: [
      { pool: 'default', tags: [], partitions: 64, served: 64, waiting_for: null },
      {
        pool: '+tpu',
        tags: ['tpu'],
        partitions: 64,
        served: 0,
        waiting_for: { tags: ['tpu'], reason: 'waiting for a node with tags tpu' },
      },
    ],
  };
  pushed: PushAnswer[] = [];
  self: LocalNode = {
    node_id: 'alpha',
    incarnation: 'alpha-life',
    role: 'hybrid',
    tags: [],
    ready: true,
    draining: false,
    partitions: { default: 32 },
    residents: 3,
    unread_partitions: 0,
    postponed_messages: 0,
    fenced_commits: 0,
    running_effects: 1,
    lease_age_ms: 12.5,
  };

  async status(): Promise<ClusterStatus> {
    return this.fleet;
  }
  local(): LocalNode {
    return this.self;
  }
  async drainMember(nodeId: string): Promise<void> {
    this.done.push(`drain ${nodeId}`);
    if (nodeId === this.self.node_id) this.self = { ...this.self, draining: true, partitions: { default: 0 } };
  }
  async shutDownMember(nodeId: string, reason: string): Promise<void> {
    this.done.push(`shut down ${nodeId}: ${reason}`);
  }
  planned: FleetChange | null = null;
  async plan(change: FleetChange): Promise<ClusterPlan> {
    this.planned = change;
    return { nodes: [], pools: [], moved_partitions: 0, moved_actors: 0, lost_tags: [] };
  }
  async partitions(): Promise<readonly PartitionLoad[]> {
    return [{ partition: 'default:0', pool: 'default', node: 'alpha', actors: 2, waiting_messages: 1 }];
  }
  async takeovers(): Promise<Page<Takeover>> {
    return { items: [] };
  }
  async pushConfig(): Promise<readonly PushAnswer[]> {
    return this.pushed;
  }
}

/** The operators' part of NodePeerApi; the nodes' part throws, since REST does not use it. */
export class FakePeers implements NodePeerApi {
  readonly done: string[] = [];
  peers: NodePeer[] = [peerOf('beta'), peerOf('stranger', 'UNHEALTHY', ['gpu'])];
  #config: ManagedConfig = { config_yaml: '', config_hash: '', version: 0 };

  async list() {
    return this.peers;
  }
  async get(nodeId: string): Promise<NodePeer> {
    const found = this.peers.find(({ node_id }) => node_id === nodeId);
    if (found === undefined) throw new SvcError('not_found');
    return found;
  }
  async drain(nodeId: string, by: Identity): Promise<void> {
    this.done.push(`drain ${nodeId} by ${by.subject}`);
  }
  async shutdown(nodeId: string, reason: string, by: Identity): Promise<void> {
    this.done.push(`shut down ${nodeId} by ${by.subject}: ${reason}`);
  }
  async remove(nodeId: string, by: Identity): Promise<void> {
    await this.get(nodeId);
    this.done.push(`remove ${nodeId} by ${by.subject}`);
    this.peers = this.peers.filter(({ node_id }) => node_id !== nodeId);
  }
  async config(): Promise<ManagedConfig> {
    return this.#config;
  }
  /** Makes another operator's change before the next conditional call. */
  between: string | null = null;
  async setConfig(config_yaml: string, _by?: Identity, madeFrom?: string): Promise<ManagedConfig> {
    if (madeFrom !== undefined && this.between !== null) {
      const between = this.between;
      this.between = null;
      await this.setConfig(between);
    }
    if (madeFrom !== undefined && madeFrom !== this.#config.config_hash) throw new SvcError('conflict', 'changed');
    const config_hash = createHash('sha256').update(config_yaml).digest('hex');
    this.#config = { config_yaml, config_hash, version: 1 };
    return this.#config;
  }
  attest = notForRest;
  answerChallenge = notForRest;
  register = notForRest;
  heartbeat = notForRest;
  deregister = notForRest;
  route = notForRest;
  isRegistered = notForRest;
}

const notForRest = (): Promise<never> => Promise.reject(new Error('REST does not speak for nodes'));

/** Faults that end at once. */
export class FakeChaos implements ChaosApi {
  readonly enabled = true;
  readonly faults: Fault[] = [];

  async inject(request: FaultRequest, by: Identity): Promise<Fault> {
    const target = 'address' in request ? request.address : request.node;
    if (target.startsWith('execution/globex/')) throw new SvcError('forbidden', 'spec.chaos.tenants');
    const ms = request.kind === 'freeze-node' ? request.ms : null;
    const fault: Fault = {
      id: `fault-${this.faults.length}`,
      kind: request.kind,
      target,
      tenant: 'acme',
      by: by.subject,
      at: '2026-01-02T00:00:00.000Z',
      state: 'done',
      node: 'alpha',
      reason: null,
      ms,
    };
    this.faults.unshift(fault);
    return fault;
  }
  async list({ limit }: PageAsked) {
    const count = (kind: string) => this.faults.filter((fault) => fault.kind === kind).length;
    const counts = {
      'kill-actor': count('kill-actor'),
      'kill-owner': count('kill-owner'),
      'kill-node': count('kill-node'),
      'freeze-node': count('freeze-node'),
    };
    return { counts, items: this.faults.slice(0, limit) };
  }
  close(): void {}
}
