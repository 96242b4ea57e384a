import type { ReadJudge } from '../judge-panel/judge-output.ts';
import type { PanelConcluded } from '../judge-panel/messages.ts';
import { keepHead } from './bounded-text.ts';
import { LIMITS } from './limits.ts';
import type { ModelCheck, PanelCheck } from './plan.ts';
import type { Verdict } from './state.ts';
import { nameOf } from './validators/validate.ts';

/** Passed: score and confidence reach what the manifest asks for. Else the next prompt is told what the judges said. */
export function panelVerdict(check: PanelCheck, word: PanelConcluded): Verdict {
  const { consensus, status, error, individual_results: results, agents } = word;
  const validator = nameOf(check);
  if (status !== 'concluded' || consensus === null) {
    return { validator, passed: false, score: 0, reason: bounded(`no verdict: ${error ?? `the panel ${status}`}`) };
  }
  const { score, confidence } = consensus;
  const lacks = lacking({ score, confidence }, check);
  if (lacks === null) return { validator, passed: true, score, reason: '' };
  const names = new Map(agents.map(({ agent_id }, at) => [agent_id, check.judges[at] ?? agent_id]));
  const share = Math.floor(LIMITS.keptVerdictChars / 2 / results.length);
  const said = results.map(
    (judge) =>
      `judge ${names.get(judge.agent_id) ?? judge.agent_id} (score ${figure(judge.score)}, confidence ${figure(judge.confidence)}): ${keepHead(judge.reasoning, share)}`,
  );
  return { validator, passed: false, score, reason: bounded([lacks, ...said].join('\n')) };
}

/** The same for a model; what is no judge's answer is no verdict. */
export function modelVerdict(check: ModelCheck, said: ReadJudge): Verdict {
  const validator = nameOf(check);
  if (!said.ok) return { validator, passed: false, score: 0, reason: bounded(`no verdict: ${said.reason}`) };
  const { score, confidence, reasoning } = said;
  const lacks = lacking({ score, confidence }, { min_score: check.min_score, min_confidence: 0 });
  if (lacks === null) return { validator, passed: true, score, reason: '' };
  return { validator, passed: false, score, reason: bounded(`${lacks}\n${reasoning}`) };
}

function lacking(
  { score, confidence }: { readonly score: number; readonly confidence: number },
  least: { readonly min_score: number; readonly min_confidence: number },
): string | null {
  if (score < least.min_score) return `score ${figure(score)}, at least ${least.min_score} is needed`;
  if (confidence >= least.min_confidence) return null;
  return `score ${figure(score)}, but confidence ${figure(confidence)}, at least ${least.min_confidence} is needed`;
}

const figure = (value: number): string => String(Math.round(value * 1_000) / 1_000);

const bounded = (reason: string): string => keepHead(reason, LIMITS.keptVerdictChars);
