import { z } from 'zod';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import { poolOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { jsonOrNull } from '../../runtime/json.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import type { Members } from '../../runtime/members.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import type { Random } from '../../runtime/random.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ClusterApi, LocalNode, MemberInfo, PushAnswer } from '../../usecases/ports/cluster.ts';
import type { ChaosApi } from '../../usecases/ports/faults.ts';
import { createChaos } from '../chaos/create-chaos.ts';
import { kernelFaults } from '../chaos/fault-record.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';
import { PartitionLoads } from '../placement/partition-loads.ts';
import { changedFleet, movedBetween, planOf } from '../placement/plan.ts';
import { Takeovers } from '../placement/takeovers.ts';
import { type NodeControls, readiness } from './node-controls.ts';

interface OperationsParts extends Pick<ClusterApiParts, 'peers' | 'push'> {
  readonly settings: NodeSettings;
  readonly node: string;
  readonly stores: Pick<OpenStores, 'store' | 'documents' | 'refusal'>;
  readonly fleet: FleetPlacement;
  readonly runtime: Runtime;
  readonly controls: NodeControls;
  /** Called after an operator's drain, to send a heartbeat immediately. */
  readonly onDrained: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

/** The operations on this node and its fleet. */
interface Operations {
  readonly cluster: ClusterApi;
  readonly chaos: ChaosApi;
  close(): Promise<void>;
}

export async function openOperations(parts: OperationsParts): Promise<Operations> {
  const { settings, node, stores, fleet, runtime, controls, clock, random, warn, peers, push } = parts;
  const members = stores.store;
  const self = { node, incarnation: fleet.incarnation, role: settings.cluster.role, runtime, controls, stores };
  const loads = new PartitionLoads({ store: stores.store, clock });
  const takeovers = await Takeovers.open({ documents: stores.documents, node, fleet, clock, random, warn });
  const cluster = createClusterApi({
    fleet,
    members,
    loads,
    takeovers,
    clock,
    peers,
    push,
    local: () => localNode(self),
  });
  const faults = kernelFaults(runtime, fleet);
  const { documents } = stores;
  const chaos = await createChaos({ members, documents, node, faults, settings: settings.chaos, clock, random, warn });
  const unsubscribe = onOperatorCommand(members, node, ({ operator, reason }) => {
    if (operator === 'shutdown') controls.shutDown(reason);
    else
      controls.drain().then(parts.onDrained, (thrown: unknown) => {
        warn('draining failed', thrown);
      });
  });
  return {
    cluster,
    chaos,
    async close() {
      unsubscribe();
      chaos.close();
      await takeovers.close();
    },
  };
}

/** This node, from memory. */
function localNode(parts: {
  readonly node: string;
  readonly incarnation: string;
  readonly role: MemberInfo['role'];
  readonly runtime: Runtime;
  readonly controls: NodeControls;
  readonly stores: Pick<OpenStores, 'refusal'>;
}): LocalNode {
  const { runtime, controls, stores } = parts;
  const partitions: Record<string, number> = {};
  for (const partition of runtime.held()) {
    const pool = poolOf(partition);
    partitions[pool] = (partitions[pool] ?? 0) + 1;
  }
  const { fenced, effects, leaseAgeMs } = runtime.counts();
  return {
    node_id: parts.node,
    incarnation: parts.incarnation,
    role: parts.role,
    tags: controls.tags,
    ready: readiness(runtime, controls, stores).ready,
    draining: controls.draining,
    partitions,
    residents: runtime.activations(),
    unread_partitions: runtime.unread().length,
    postponed_messages: runtime.postponed(),
    fenced_commits: fenced,
    running_effects: effects.running,
    lease_age_ms: Math.round(leaseAgeMs),
  };
}

interface ClusterApiParts {
  readonly fleet: Pick<FleetPlacement, 'view' | 'current'>;
  readonly members: Pick<Members, 'signal' | 'members'>;
  readonly loads: PartitionLoads;
  readonly takeovers: Takeovers;
  readonly clock: Clock;
  readonly local: () => LocalNode;
  /** Registered peers with an address. */
  readonly peers: () => Promise<readonly { readonly node_id: string; readonly grpc_address: string }[]>;
  /** Pushes the managed configuration to one node (G30). */
  readonly push: (
    nodeId: string,
    grpcAddress: string,
  ) => Promise<{ readonly accepted: boolean; readonly reason: string | null }>;
}

/** Time limit for a command to take effect. */
const COMMAND_TIMEOUT_MS = 5_000;

const POLL_MS = 100;

const SIGNAL_EVERY_POLLS = 10;

const PUSH_AT_ONCE = 16;

/** The fleet for operators, over the store's members. */
function createClusterApi(parts: ClusterApiParts): ClusterApi {
  const { fleet, members, loads, takeovers, clock, local, peers, push } = parts;

  /** Repeats the command until `done`, since a signal may be lost. */
  async function tell(
    nodeId: string,
    command: OperatorCommand,
    done: (incarnation: string) => Promise<boolean>,
  ): Promise<void> {
    const incarnation = (await members.members()).find(({ node }) => node === nodeId)?.incarnation;
    if (incarnation === undefined) throw new SvcError('not_found', `there is no live node ${nodeId}`);
    const deadline = clock.monotonic() + COMMAND_TIMEOUT_MS;
    // Sent at least once: a node that is draining already may still have to stop.
    for (let poll = 0; poll === 0 || !(await done(incarnation)); poll += 1) {
      if (clock.monotonic() > deadline) throw new SvcError('unavailable', `node ${nodeId} did not answer in time`);
      if (poll % SIGNAL_EVERY_POLLS === 0) await members.signal(nodeId, JSON.stringify(command));
      await sleep(clock, POLL_MS);
    }
  }

  const drains = async (nodeId: string, life: string): Promise<boolean> => {
    const found = (await fleet.view()).members.find(({ node_id }) => node_id === nodeId);
    return found?.incarnation !== life || found.info?.draining === true;
  };

  return {
    status: () => fleet.view(),
    local,
    drainMember: (nodeId) => tell(nodeId, { operator: 'drain', reason: '' }, (life) => drains(nodeId, life)),
    shutDownMember: (nodeId, reason) =>
      tell(nodeId, { operator: 'shutdown', reason: reason.slice(0, 1_000) }, (life) => drains(nodeId, life)),
    async plan(change) {
      const before = await fleet.current();
      const after = changedFleet(before, change);
      const moved = before.pools.flatMap((layout) => movedBetween(layout, before, after));
      const actors = await loads.actorsIn(moved.map(({ partition }) => partition));
      return planOf(before, after, (partition) => actors.get(partition) ?? 0);
    },
    async partitions() {
      return loads.of(await fleet.current());
    },
    takeovers: (of, page) => takeovers.list(of, page),
    async pushConfig() {
      const reachable = await peers();
      const answers: PushAnswer[] = [];
      for (let start = 0; start < reachable.length; start += PUSH_AT_ONCE) {
        const chunk = reachable.slice(start, start + PUSH_AT_ONCE);
        answers.push(
          ...(await Promise.all(
            chunk.map(({ node_id, grpc_address }) =>
              push(node_id, grpc_address).then(
                (answer) => ({ node_id, ...answer }),
                (thrown: unknown) => ({ node_id, accepted: false, reason: toSvcError(thrown).message }),
              ),
            ),
          )),
        );
      }
      return answers;
    },
  };
}

/** Subscribes to commands of operators to this node. */
function onOperatorCommand(
  members: Pick<Members, 'onSignal'>,
  node: string,
  listener: (command: OperatorCommand) => void,
): Unsubscribe {
  return members.onSignal(node, (text) => {
    const command = parseOperatorCommand(text);
    if (command !== null) listener(command);
  });
}

/** An operator's command to a node, sent as a signal through the store. It may be lost; the sender checks its effect. */
const OperatorCommand = z.object({
  operator: z.enum(['drain', 'shutdown']),
  reason: z.string().max(1_000),
});

type OperatorCommand = z.output<typeof OperatorCommand>;

/** Null for other signals, which need not be JSON. */
const parseOperatorCommand = (text: string): OperatorCommand | null =>
  OperatorCommand.safeParse(jsonOrNull(text)).data ?? null;
