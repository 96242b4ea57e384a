import { z } from 'zod';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import { poolOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
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
import type { NodeControls } from './node-controls.ts';

interface OperationsParts extends Pick<ClusterApiParts, 'peers' | 'push'> {
  readonly settings: NodeSettings;
  readonly node: string;
  readonly stores: Pick<OpenStores, 'store' | 'documents'>;
  readonly fleet: FleetPlacement;
  readonly runtime: Runtime;
  readonly controls: NodeControls;
  /** Drained by an operator: controllers may be told before the next heartbeat is due. */
  readonly onDrained: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

/** What operators see of this node and its fleet, and do to them. */
interface Operations {
  readonly cluster: ClusterApi;
  readonly chaos: ChaosApi;
  close(): void;
}

export async function openOperations(parts: OperationsParts): Promise<Operations> {
  const { settings, node, stores, fleet, runtime, controls, clock, random, warn, peers, push } = parts;
  const members = stores.store;
  const self = { node, incarnation: fleet.incarnation, role: settings.cluster.role, runtime, controls };
  const cluster = createClusterApi({ fleet, members, clock, peers, push, local: () => localNode(self) });
  const faults = kernelFaults(runtime, fleet);
  const { documents } = stores;
  const chaos = await createChaos({ members, documents, node, faults, settings: settings.chaos, clock, random, warn });
  const unhear = onOperatorCommand(members, node, ({ operator, reason }) => {
    if (operator === 'shutdown') controls.shutDown(reason);
    else
      controls.drain().then(parts.onDrained, (thrown: unknown) => {
        warn('draining failed', thrown);
      });
  });
  return {
    cluster,
    chaos,
    close() {
      unhear();
      chaos.close();
    },
  };
}

/** This node as it sees itself, from memory. */
function localNode(parts: {
  readonly node: string;
  readonly incarnation: string;
  readonly role: MemberInfo['role'];
  readonly runtime: Runtime;
  readonly controls: NodeControls;
}): LocalNode {
  const { runtime, controls } = parts;
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
    ready: runtime.ready() && !controls.draining,
    draining: controls.draining,
    partitions,
    residents: runtime.residents(),
    unread_partitions: runtime.unread().length,
    postponed_messages: runtime.postponed(),
    fenced_commits: fenced,
    running_effects: effects.running,
    lease_age_ms: Math.round(leaseAgeMs),
  };
}

interface ClusterApiParts {
  readonly fleet: Pick<FleetPlacement, 'view'>;
  readonly members: Pick<Members, 'signal' | 'members'>;
  readonly clock: Clock;
  readonly local: () => LocalNode;
  /** Registered peers that can be reached. */
  readonly peers: () => Promise<readonly { readonly node_id: string; readonly grpc_address: string }[]>;
  /** PushConfig of the configuration in force to one node (G30). */
  readonly push: (
    nodeId: string,
    grpcAddress: string,
  ) => Promise<{ readonly accepted: boolean; readonly reason: string | null }>;
}

/** How long an operator's word may take until the fleet shows it. */
const TOLD_WITHIN_MS = 5_000;

const LOOK_EVERY_MS = 100;

const SIGNAL_AGAIN_EVERY = 10;

const PUSH_AT_ONCE = 16;

/** The fleet for operators, over the store's members. */
function createClusterApi(parts: ClusterApiParts): ClusterApi {
  const { fleet, members, clock, local, peers, push } = parts;

  /** Repeats the word until `done`: a signal may be lost. */
  async function tell(nodeId: string, word: OperatorCommand, done: (life: string) => Promise<boolean>): Promise<void> {
    const life = (await members.members()).find(({ node }) => node === nodeId)?.incarnation;
    if (life === undefined) throw new SvcError('not_found', `no live node ${nodeId}`);
    const deadline = clock.monotonic() + TOLD_WITHIN_MS;
    // Said once in any case: a node that drains already may be told to end.
    for (let look = 0; look === 0 || !(await done(life)); look += 1) {
      if (clock.monotonic() > deadline) throw new SvcError('unavailable', `node ${nodeId} did not answer in time`);
      if (look % SIGNAL_AGAIN_EVERY === 0) await members.signal(nodeId, JSON.stringify(word));
      await new Promise<void>((resume) => void clock.after(LOOK_EVERY_MS, resume));
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

/** Hears what operators tell this node. */
function onOperatorCommand(
  members: Pick<Members, 'onSignal'>,
  node: string,
  hear: (word: OperatorCommand) => void,
): Unsubscribe {
  return members.onSignal(node, (text) => {
    const word = parseOperatorCommand(text);
    if (word !== null) hear(word);
  });
}

/** What an operator tells one node through the store's signals. May be lost; whoever sends it looks whether it worked. */
const OperatorCommand = z.object({
  operator: z.enum(['drain', 'shutdown']),
  reason: z.string().max(1_000),
});

type OperatorCommand = z.output<typeof OperatorCommand>;

/** Null for words of others. */
function parseOperatorCommand(text: string): OperatorCommand | null {
  try {
    return OperatorCommand.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // Signals are shared; what is not JSON is somebody else's.
    return null;
  }
}
