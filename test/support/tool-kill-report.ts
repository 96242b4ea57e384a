import { percentile } from '../kill/recovery.ts';
import type { ToolKillOutcome } from './tool-kill-chaos.ts';
import { doubtsOf } from './tool-kill-checks.ts';
import { counted } from './workflow-kill-marks.ts';

/** Lines of figures: runs, kills that hit them, calls in doubt. */
export function toolKillLines(outcome: ToolKillOutcome): string[] {
  const { unkilled, runs, recovery, killsInStartup, tookMs } = outcome;
  const hit = runs.filter(({ followed }) => followed.connections > 1).length;
  const events = runs.reduce((sum, { followed }) => sum + followed.events.length, 0);
  const calls = runs.reduce((sum, { status }) => sum + (status.tool_calls_executed ?? 0), 0);
  const commands = runs.reduce((sum, { marks }) => sum + marks.length, 0);
  const doubts = counted(runs.flatMap(doubtsOf).map(({ tool }) => tool));
  const said = [...doubts].map(([tool, times]) => `${tool} ${times}`).join(', ');
  const repeats = runs.map(({ status }) => status.in_doubt ?? 0);
  const again = repeats.reduce((sum, count) => sum + count, 0);
  return [
    `${recovery.kills} kills (${killsInStartup} in start-up) in ${Math.round(tookMs / 1_000)} s; ${runs.length} runs, ${hit} of them over several connections`,
    `${events} events: no gap, no repeat; ${calls} tool calls, commands ran ${commands}, the MCP tool ran ${outcome.counted}`,
    `in doubt and listed: ${said === '' ? 'none' : said}; programs run again ${again} times, one of them ${Math.max(0, ...repeats)} times`,
    ...unkilled.map((alone) => {
      const times = runs.filter(({ agent }) => agent === alone.agent).map((run) => run.endedAtMs - run.startedAtMs);
      const figure = (part: number): string => `${Math.round(percentile(times, part))} ms`;
      return `${alone.agent.name}: undisturbed ${alone.endedAtMs - alone.startedAtMs} ms; under kills n ${times.length}, p50 ${figure(0.5)}, longest ${figure(1)}`;
    }),
  ];
}
