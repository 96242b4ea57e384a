import type { EffectResult } from '../../../runtime/effect.ts';
import { readJudge } from '../../judge-panel/judge-output.ts';
import type { PanelConcluded } from '../../judge-panel/messages.ts';
import { isHopeless } from '../hopeless.ts';
import { callJudged } from '../inner-loop/call-ended.ts';
import { abandonIteration } from '../iteration.ts';
import { modelVerdict, panelVerdict, takeVerdict } from '../judging.ts';
import type { ExecutionTurn } from '../messages.ts';
import { ModelAnswer, noAnswer, withUsage } from '../model-answer.ts';
import { awaited } from '../phase.ts';
import { type ModelCheck, needsPanel } from '../plan.ts';
import type { ExecutionState, Verdict } from '../state.ts';
import { nameOf } from '../validators/validate.ts';

/** A panel has ended: that of the iteration's result, or that of a proposed tool call. */
export function PanelEnded(state: ExecutionState, panel: PanelConcluded, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'PanelWord', panel.panel_id);
  if (found === null) return state;
  const { running, wait } = found;
  if (wait.kind === 'call judges') return callJudged(running, wait.call, panel, turn);
  const check = running.plan.validators[wait.judging.verdicts.length];
  if (check === undefined || !needsPanel(check)) return state;
  if (panel.code !== undefined) {
    const failure = { error_type: panel.code, message: `${nameOf(check)}: ${panel.error ?? 'no verdict'}` };
    return abandonIteration(running, failure, { status: 'failed', reason: panel.code }, turn);
  }
  return takeVerdict(running, wait.judging, panelVerdict(check, panel), turn);
}

/** A model has answered as a judge, or could not be asked. */
export function ModelJudged(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  const found = awaited(state, 'ModelJudged', effectId);
  if (found === null) return state;
  const { running } = found;
  const { judging } = found.wait;
  const check = running.plan.validators[judging.verdicts.length];
  if (check?.type !== 'semantic_prompt') return state;
  if (outcome.kind === 'failed' && isHopeless(outcome.code)) {
    const message = `the judge could not be asked: ${outcome.message}`;
    const failure = { error_type: outcome.code, message };
    return abandonIteration(running, failure, { status: 'failed', reason: outcome.code }, turn);
  }
  if (outcome.kind !== 'done') return takeVerdict(running, judging, notAsked(check, outcome), turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) {
    const reason = 'the answer of the model is malformed';
    return takeVerdict(running, judging, modelVerdict(check, { ok: false, reason, output: null }), turn);
  }
  const none = noAnswer(answer.data);
  const said =
    none === null
      ? readJudge(answer.data.text, { inProse: running.in_prose === true })
      : { ok: false as const, reason: none.message, output: null };
  return takeVerdict(withUsage(running, answer.data), judging, modelVerdict(check, said), turn);
}

/** `skip` applies when the judge is unavailable. */
function notAsked(check: ModelCheck, outcome: Exclude<EffectResult['outcome'], { readonly kind: 'done' }>): Verdict {
  const validator = nameOf(check);
  const [code, message] =
    outcome.kind === 'failed' ? [outcome.code, outcome.message] : ['in_doubt', 'its node died while it was asked'];
  const reason = `the judge could not be asked: ${code}: ${message}`;
  if (check.fallback === 'skip') return { validator, passed: true, score: 1, reason };
  return { validator, passed: false, score: 0, reason };
}
