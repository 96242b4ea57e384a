import { z } from 'zod';
import type { Unsubscribe } from '../../runtime/actor-store.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Members } from '../../runtime/members.ts';
import type { ClusterApi, LocalNode, PushAnswer } from '../api.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';

export interface ClusterApiParts {
  readonly fleet: Pick<FleetPlacement, 'view'>;
  readonly members: Pick<Members, 'signal' | 'members'>;
  readonly clock: Clock;
  readonly local: () => LocalNode;
  /** Registered peers that can be reached. */
  readonly peers: () => Promise<readonly { readonly node_id: string; readonly grpc_address: string }[]>;
  /** PushConfig of the configuration in force to one node (spec 1). */
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
export function createClusterApi(parts: ClusterApiParts): ClusterApi {
  const { fleet, members, clock, local, peers, push } = parts;

  /** Repeats the word until `done`: a signal may be lost. */
  async function tell(nodeId: string, word: OperatorWord, done: (life: string) => Promise<boolean>): Promise<void> {
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
    return found?.incarnation !== life || found.card?.draining === true;
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
export function onOperatorWord(
  members: Pick<Members, 'onSignal'>,
  node: string,
  hear: (word: OperatorWord) => void,
): Unsubscribe {
  return members.onSignal(node, (text) => {
    const word = parseOperatorWord(text);
    if (word !== null) hear(word);
  });
}

/** What an operator tells one node through the store's signals. May be lost; whoever sends it looks whether it worked. */
const OperatorWord = z.object({
  operator: z.enum(['drain', 'shutdown']),
  reason: z.string().max(1_000),
});

type OperatorWord = z.output<typeof OperatorWord>;

/** Null for words of others. */
function parseOperatorWord(text: string): OperatorWord | null {
  try {
    return OperatorWord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // Signals are shared; what is not JSON is somebody else's.
    return null;
  }
}
