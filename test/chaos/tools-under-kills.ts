import type { StoreKind } from '../kill/stores.ts';
import { sample } from '../support/size.ts';
import { killToolAgents, type ToolKillOptions } from '../support/tool-kill-chaos.ts';
import { brokenToolRuns } from '../support/tool-kill-checks.ts';
import { toolKillLines } from '../support/tool-kill-report.ts';
import { openToolKillSurroundings } from '../support/tool-kill-surroundings.ts';
import { type ScenarioReport, timeLines } from './report.ts';

interface ToolsUnderKills extends ToolKillOptions {
  readonly store: StoreKind;
  /** Which agents (test/support/tool-kill-agents.ts): in-node, gateway, mcp, docker. */
  readonly agents: readonly string[];
}

/** Isolation `process`: loop in the node, over the gateway, with an MCP server. */
export const PROCESS = ['in-node', 'gateway', 'mcp'];
export const DOCKER = ['docker'];

type Where = Pick<ToolsUnderKills, 'store' | 'agents'>;
export const wholeTools = (seed: number, where: Where): ToolsUnderKills => ({
  ...{ ...where, seed, atATime: 6 },
  kills: Number(process.env.SVC_KILLS ?? 200),
});
export const smallTools = (seed: number, where: Where): ToolsUnderKills => ({
  ...where,
  seed,
  atATime: sample({ normal: 2, long: 4 }),
  kills: sample({ normal: 1, long: 12 }),
});

/** One node with a scripted model: kill -9 at random moments while agents make ten tool calls each. */
export async function toolsUnderKills(options: ToolsUnderKills): Promise<ScenarioReport> {
  await using surroundings = await openToolKillSurroundings(options.store, options.agents);
  const outcome = await killToolAgents(surroundings, options);
  const { recovery } = outcome;
  return {
    title: `agents with ten tool calls (${options.agents.join(', ')}) on ${options.store} under ${options.kills} kills, ${options.atATime} at a time`,
    seed: options.seed,
    lines: [
      ...toolKillLines(outcome),
      ...timeLines('kill to the first new event', recovery.first),
      ...timeLines('kill to the next event of each that ran', recovery.each),
      ...timeLines('node listens to the next event of each', recovery.sinceUp),
    ],
    broken: brokenToolRuns(outcome),
  };
}
