import type { EffectResult } from '../../../runtime/effect.ts';
import { readJudge } from '../../judge-panel/judge-output.ts';
import { modelVerdict } from '../judge-verdict.ts';
import { askedJudge, settle } from '../judging.ts';
import type { ExecutionTurn } from '../messages.ts';
import { ModelAnswer, noAnswer, withUsage } from '../model-answer.ts';
import { isHopeless } from '../outcome.ts';
import type { ModelCheck } from '../plan.ts';
import type { ExecutionState, Verdict } from '../state.ts';
import { nameOf } from '../validators/validate.ts';

/** A model that was asked as a judge has answered, or could not be asked. */
export function ModelJudged(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  const asked = askedJudge(state, (by) => by.kind === 'model' && by.effect_id === effectId);
  if (asked === null || asked.check.type !== 'semantic_prompt') return state;
  const { running, judging, check } = asked;
  if (outcome.kind !== 'done') return settle(running, judging, notAsked(check, outcome), turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) {
    const reason = 'the answer of the model is malformed';
    return settle(running, judging, modelVerdict(check, { ok: false, reason, output: null }), turn);
  }
  const none = noAnswer(answer.data);
  const said = none === null ? readJudge(answer.data.text) : { ok: false as const, reason: none.message, output: null };
  return settle(withUsage(running, answer.data), judging, modelVerdict(check, said), turn);
}

/** `skip` is for a judge that is unavailable, not for one that the manifest or the node names wrongly. */
function notAsked(check: ModelCheck, outcome: Exclude<EffectResult['outcome'], { readonly kind: 'done' }>): Verdict {
  const validator = nameOf(check);
  const [code, message] =
    outcome.kind === 'failed' ? [outcome.code, outcome.message] : ['in_doubt', 'its node died while it was asked'];
  const reason = `the judge could not be asked: ${code}: ${message}`;
  if (check.fallback === 'skip' && !isHopeless(code)) return { validator, passed: true, score: 1, reason };
  return { validator, passed: false, score: 0, reason };
}
