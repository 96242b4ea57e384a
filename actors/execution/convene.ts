import { addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { Convene } from '../judge-panel/messages.ts';
import { LIMITS } from './limits.ts';
import type { ExecutionTurn } from './messages.ts';
import type { PanelCheck } from './plan.ts';
import type { RunningExecution } from './state.ts';
import { judgeTimeoutMs } from './time-left.ts';

/**
 * Asks the judges of a check, of a result or of a proposed tool call; answers the panel's id. Throws `failed_precondition`
 * when its judges would be too deep, `payload_too_large` for what no judge can be given.
 */
export function conveneJudges(
  running: RunningExecution,
  check: PanelCheck,
  input: string,
  turn: ExecutionTurn,
): string {
  const depth = (running.depth ?? 0) + 1;
  if (depth > LIMITS.judgeDepth) {
    const text = `MaxRecursiveDepthExceeded: its judges would run at depth ${depth}, the deepest is ${LIMITS.judgeDepth}`;
    throw new SvcError('failed_precondition', text);
  }
  refuseTooLong(input);
  const { judges, consensus: strategy, min_score: threshold, min_judges_required } = check;
  const timeout_ms = judgeTimeoutMs(running, check.timeout_ms, turn.now);
  const panelId = turn.newId();
  const message: Convene = {
    panel_id: panelId,
    judges: judges.map((agent) => ({ agent, input, weight: 1, timeout_ms })),
    consensus: {
      strategy,
      threshold,
      min_judges_required,
      // The confidence in one judge's word is its own.
      confidence_weighting:
        check.type === 'semantic'
          ? { agreement_factor: 0, self_confidence_factor: 1 }
          : { agreement_factor: 0.7, self_confidence_factor: 0.3 },
      early_stop: false,
    },
    depth,
    notify: { to: turn.self, as: 'PanelWord', context: { iteration: running.iteration_count } },
    ...(running.workflow_execution_id === null ? {} : { workflow_execution_id: running.workflow_execution_id }),
    ...(running.identity === undefined ? {} : { identity: running.identity }),
  };
  turn.tell(addressOf('judge-panel', turn.tenant, panelId), 'Convene', plain(message));
  return panelId;
}

export function refuseTooLong(input: string): void {
  const bytes = Buffer.byteLength(input);
  if (bytes <= LIMITS.judgeInputBytes) return;
  const text = `a judge would be given ${bytes} bytes, at most ${LIMITS.judgeInputBytes} are judged`;
  throw new SvcError('payload_too_large', text);
}

/** Optional fields may be present and undefined; JSON has no undefined. */
function plain(convene: Convene): Json {
  const json: Json = JSON.parse(JSON.stringify(convene));
  return json;
}
