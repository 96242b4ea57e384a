import type { z } from 'zod';
import type { ConsensusRule, Judge, JudgePanelApi, PanelConcluded } from '../../../actors/judge-panel/api.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { ToolFailure } from '../../failure.ts';
import type { ManagedCall } from '../managed.ts';
import type { validationResults } from './judge-fields.ts';

/** Of one judge, its start included: a call of a tool ends after 630 s. */
const JUDGE_TIMEOUT_MS = 540_000;

interface Judging {
  readonly manifest_yaml: string;
  readonly task_context?: string | undefined;
  readonly judge_agents: readonly string[];
  readonly min_score: number;
  readonly min_confidence: number;
}

type Result = z.output<typeof validationResults>[number];

/**
 * Has every judge look at the manifest, and answers what each said. Throws a `validation_failed` failure with all that was
 * said when one refuses: its score is below `min_score` or its confidence below `min_confidence`; `failed_precondition`
 * when one gave no verdict, `not_found` naming one that is not deployed.
 */
export async function judged(
  judges: JudgePanelApi,
  judging: Judging,
  { identity, call }: Pick<ManagedCall, 'identity' | 'call'>,
): Promise<readonly Result[]> {
  const { judge_agents, min_score, min_confidence } = judging;
  const names = [...new Set(judge_agents)];
  const input = contentOf(judging);
  const asked = names.map((agent): Judge => ({ agent, input, weight: 1, timeout_ms: JUDGE_TIMEOUT_MS }));
  const consensus: ConsensusRule = {
    ...{ strategy: 'unanimous', threshold: min_score, min_agreement_confidence: min_confidence, early_stop: false },
    min_judges_required: names.length,
    confidence_weighting: { agreement_factor: 0.7, self_confidence_factor: 0.3 },
  };
  const { signal, trace } = call;
  const panel = { panelId: call.id, judges: asked, consensus, identity };
  const concluded = await call.parked(judges.validate(panel, { trace, signal }));
  const results = resultsOf(concluded, judging);
  if (results.some(({ passed }) => !passed)) throw refusal(results, judging);
  return results;
}

/** What a judge is given: as ValidateWithJudges gives it (spec 1). */
const contentOf = ({ manifest_yaml, task_context }: Judging): string =>
  JSON.stringify({
    task: 'Judge whether this workflow manifest is fit to be deployed.',
    output: manifest_yaml,
    ...(task_context === undefined ? {} : { context: { task_context } }),
  });

const resultsOf = ({ individual_results }: PanelConcluded, { min_score, min_confidence }: Judging): readonly Result[] =>
  individual_results.map(({ agent_id, score, confidence, reasoning }) => ({
    ...{ agent_id, score, confidence, reasoning },
    passed: score >= min_score && confidence >= min_confidence,
  }));

function refusal(results: readonly Result[], { min_score, min_confidence }: Judging): ToolFailure {
  const said = results.map(
    ({ agent_id, score, confidence, passed, reasoning }) =>
      `${agent_id} ${passed ? 'passes' : 'refuses'} it (score ${score}, confidence ${confidence}): ${reasoning}`,
  );
  const needed = `a score of at least ${min_score} and a confidence of at least ${min_confidence} are needed`;
  const failure = new ToolFailure('validation_failed', [`not deployed: ${needed}`, ...said].join('\n'));
  const structured: JsonObject = { deployed: false, validation_results: results.map((result) => ({ ...result })) };
  failure.structured = structured;
  return failure;
}
