import { sample } from '../support/size.ts';
import { SMALL_CASES, type WorkflowCase } from '../support/workflow-kill-cases.ts';
import { killWorkflows, type WorkflowKillOptions } from '../support/workflow-kill-chaos.ts';
import { brokenIn } from '../support/workflow-kill-checks.ts';
import { exampleCases, openExampleSurroundings } from '../support/workflow-kill-examples.ts';
import { sinceLastKill, workflowKillLines } from '../support/workflow-kill-report.ts';
import { type ScenarioReport, timeLines } from './report.ts';

export const wholeWorkflows = (seed: number): WorkflowKillOptions => ({
  kills: Number(process.env.SVC_KILLS ?? 300),
  seed,
  atATime: 4,
});
export const smallWorkflows = (seed: number): WorkflowKillOptions => ({
  kills: sample({ normal: 2, long: 12 }),
  seed,
  atATime: sample({ normal: 3, long: 4 }),
});

/**
 * One node on Redis with containers and a scripted model: kill -9 at random moments of the selected examples, and of small
 * workflows whose steps take longer, repeatedly.
 */
export async function workflowsUnderKills(
  options: WorkflowKillOptions,
  chosen: (examples: readonly WorkflowCase[]) => readonly WorkflowCase[] = (all) => all,
): Promise<ScenarioReport> {
  const cases = [...SMALL_CASES, ...chosen(await exampleCases())];
  await using setup = await openExampleSurroundings(cases);
  const outcome = await killWorkflows(setup, cases, options);
  return {
    title: `${cases.length} workflows under ${options.kills} kills of their node, ${options.atATime} at a time`,
    seed: options.seed,
    lines: [...workflowKillLines(outcome), ...timeLines('last kill that hit a run to its end', sinceLastKill(outcome))],
    broken: brokenIn(outcome),
  };
}
