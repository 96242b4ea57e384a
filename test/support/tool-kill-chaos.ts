import { killRepeatedly, USUAL_LIFE_MS } from '../kill/killer.ts';
import { SeededRandom } from '../kill/random.ts';
import { RecoveryTimes } from '../kill/recovery.ts';
import { type Left, leftAtLast, leftIn } from '../kill/remaining-records.ts';
import { explained, untilEmpty, workUnderKills } from '../kill/under-kills.ts';
import { livenessBroken } from './liveness.ts';
import { type ToolRunSeen, ToolRuns } from './tool-kill-run.ts';
import type { ToolKillSurroundings } from './tool-kill-surroundings.ts';
import { containersLeft, processesWith } from './workflow-kill-marks.ts';

export interface ToolKillOptions {
  readonly kills: number;
  readonly seed: number;
  /** Executions that run at a time. */
  readonly atATime: number;
}

/** What happened, for the checks and the figures. */
export interface ToolKillOutcome {
  /** Undisturbed runs, one of each agent. */
  readonly unkilled: readonly ToolRunSeen[];
  readonly runs: readonly ToolRunSeen[];
  readonly recovery: RecoveryTimes;
  readonly killsInStartup: number;
  /** Runs of the MCP server's tool. */
  readonly counted: number;
  /** Records of the runs that the actor store still has when all have ended. */
  readonly left: Left;
  /** What was still under way 30 s after the last kill (test/support/liveness.ts). */
  readonly unfinished: readonly string[];
  readonly containersLeft: readonly string[];
  readonly boxesLeft: readonly string[];
  readonly processesLeft: readonly string[];
  readonly tookMs: number;
}

/** A sweep of containers and mailboxes comes each minute. */
const SWEEP_MS = 90_000;
const ENDED_MS = 10_000;
/** For many containers at a time on a busy machine. */
const SETTLE_MS = 180_000;

/** Runs the agents again and again while their node is killed at random moments; returns the results. */
export async function killToolAgents(
  surroundings: ToolKillSurroundings,
  options: ToolKillOptions,
): Promise<ToolKillOutcome> {
  const abort = new AbortController();
  try {
    return await explained(surroundings.node, options.seed, killAll(surroundings, options, abort));
  } finally {
    abort.abort();
  }
}

async function killAll(
  surroundings: ToolKillSurroundings,
  options: ToolKillOptions,
  abort: AbortController,
): Promise<ToolKillOutcome> {
  const begun = performance.now();
  const { node, agents, podman } = surroundings;
  const recovery = new RecoveryTimes();
  const clients = new ToolRuns(surroundings, recovery, abort.signal);
  node.spawn();
  await node.url;
  await clients.deploy();
  const unkilled = await Promise.all(agents.map((agent) => clients.run(agent)));
  // The node lives about as long as a run takes, so that kills hit every part of a run.
  const longer = Math.max(...unkilled.map((run) => run.endedAtMs - run.startedAtMs)) / USUAL_LIFE_MS;
  const random = new SeededRandom(options.seed);
  const { running } = clients;
  const plan = { kills: options.kills, longer, settleMs: SETTLE_MS };
  const { seen: runs, killed: killsInStartup } = await workUnderKills({
    atATime: options.atATime,
    kinds: agents,
    run: (agent) => clients.run(agent),
    killer: () => killRepeatedly(node, plan, { random, recovery, running, abort }),
    abort,
  });
  const containers = await untilEmpty(async () => (podman === null ? [] : containersLeft(podman)), SWEEP_MS);
  const boxesLeft = await untilEmpty(() => surroundings.boxes(), SWEEP_MS);
  const ended = [...unkilled, ...runs];
  const ids = ended.map(({ id }) => id);
  const unfinished = await livenessBroken({ location: surroundings.location, url: await node.url, ended: ids });
  await node.kill('SIGTERM');
  const own = new Set([process.pid]);
  const processes = async () => (await Promise.all(surroundings.marks.map((mark) => processesWith(mark, own)))).flat();
  return {
    unfinished,
    ...{ unkilled, runs, recovery, killsInStartup, boxesLeft, containersLeft: containers },
    processesLeft: await untilEmpty(processes, ENDED_MS),
    counted: await surroundings.counted(),
    left: await leftAtLast(node, () => surroundings.withStores((stores) => leftIn(stores, ended))),
    tookMs: performance.now() - begun,
  };
}
