import { SMALL_CASES } from '../support/workflow-kill-cases.ts';
import { killWorkflows, type WorkflowKillOptions } from '../support/workflow-kill-chaos.ts';
import { brokenIn } from '../support/workflow-kill-checks.ts';
import { sinceLastKill, workflowKillLines } from '../support/workflow-kill-report.ts';
import { openWorkflowKillWorld } from '../support/workflow-kill-world.ts';
import { type ScenarioReport, timeLines } from './report.ts';

export const wholeWorkflows = (seed: number): WorkflowKillOptions => ({ kills: 300, seed, atATime: 4 });
export const smallWorkflows = (seed: number): WorkflowKillOptions => ({ kills: 12, seed, atATime: 4 });

/** One node on Redis with containers: kill -9 at random moments of real workflows, again and again. */
export async function workflowsUnderKills(options: WorkflowKillOptions): Promise<ScenarioReport> {
  await using world = await openWorkflowKillWorld();
  const outcome = await killWorkflows(world, SMALL_CASES, options);
  return {
    title: `workflows under ${options.kills} kills of their node, ${options.atATime} at a time`,
    seed: options.seed,
    lines: [...workflowKillLines(outcome), ...timeLines('last kill that hit a run to its end', sinceLastKill(outcome))],
    broken: brokenIn(outcome),
  };
}
