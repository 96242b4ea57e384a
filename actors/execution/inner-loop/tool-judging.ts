import type { PanelConcluded } from '../../judge-panel/messages.ts';
import { keepHead } from '../bounded-text.ts';
import { conveneJudges } from '../convene.ts';
import { panelVerdict } from '../judge-verdict.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { PanelCheck } from '../plan.ts';
import { renderTask } from '../prompt.ts';
import type { RunningExecution } from '../state.ts';
import { mountsOf } from '../workspace.ts';
import { withCall } from './loop-of.ts';
import type { LoopCall } from './state.ts';

/** Asks the judges of a proposed call: its use and arguments, not its result (spec 3, skip_judge). Throws as `conveneJudges`. */
export function judgeCall(
  running: RunningExecution,
  call: LoopCall,
  check: PanelCheck,
  turn: ExecutionTurn,
): RunningExecution {
  const panel_id = conveneJudges(running, check, callInput(running, call, check), turn);
  return withCall(running, call.key, { status: 'judging', panel_id });
}

/** `unheard`: too few judges gave a verdict, so nobody knows whether the call may run. */
export function heardOf(
  check: PanelCheck,
  word: PanelConcluded,
): { readonly kind: 'passed' } | { readonly kind: 'rejected' | 'unheard'; readonly reason: string } {
  const verdict = panelVerdict(check, word);
  if (verdict.passed) return { kind: 'passed' };
  const concluded = word.status === 'concluded' && word.consensus !== null;
  return { kind: concluded ? 'rejected' : 'unheard', reason: `${verdict.validator}: ${verdict.reason}` };
}

/** Fields of original-facts 6.4. */
function callInput(running: RunningExecution, { name, allowed }: LoopCall, check: PanelCheck): string {
  return JSON.stringify({
    task: keepHead(renderTask(running, running.iteration_count), LIMITS.judgeTaskChars),
    proposed_tool_call: { name, arguments: allowed?.arguments ?? {} },
    available_tools: (running.grant?.tools ?? []).map((tool) => tool.name),
    criteria: check.criteria,
    tool_audit_history: running.tool_history,
    worker_mounts: mountsOf(running).map(({ mount_path, read_only }) => ({ mount_path, read_only })),
    execution_id: running.execution_id,
    validation_context: 'semantic_judge_pre_execution_inner_loop',
  });
}
