import { consensusOf, type Judged } from './consensus.ts';
import type { Interpretation, Left } from './interpreter.ts';
import { isMap, type Json, type JsonMap, listOr, mapOr, numberOr, OPEN, type State, textOr } from './manifest.ts';
import { saidTo, writtenFor } from './script.ts';
import { render } from './templates.ts';

/** Agents that are deployed; each answers as the script says for its input. */
export const AGENTS = ['teller', 'keeper', 'judge'] as const;

const isDeployed = (name: string): boolean => AGENTS.some((agent) => agent === name);

const rendered = (template: Json | undefined, name: string, run: Interpretation): string =>
  render(textOr(template, ''), run.scope(), name);

/** Kind Agent: the score is that of its answer when it is JSON that has one, else 1. */
export function runAgent(state: State, name: string, run: Interpretation): Left {
  if (!isDeployed(rendered(state.agent, name, run))) return { entry: { status: 'failed' }, error: 'not_found' };
  const input = rendered(state.input, name, run);
  const said = saidTo(input);
  if (said === undefined) return { entry: { status: 'failed' }, error: OPEN };
  for (const [path, content] of Object.entries(writtenFor(input))) run.volumes.get('workspace')?.set(path, content);
  const answer = jsonOf(said);
  const entry = {
    status: 'success',
    output: said,
    score: numberOr(answer?.score, 1),
    confidence: numberOr(answer?.confidence, 1),
    iterations: 1,
  };
  return { entry, error: null };
}

function jsonOf(text: string): JsonMap | null {
  try {
    const value: Json = JSON.parse(text);
    return isMap(value) ? value : null;
  } catch {
    return null;
  }
}

/** A judge's answer, when it is one: score, confidence and a reasoning of ten characters. */
function verdictIn(said: string | undefined): JsonMap | null {
  const answer = said === undefined ? null : jsonOf(said);
  if (typeof answer?.score !== 'number' || typeof answer.confidence !== 'number') return null;
  return textOr(answer.reasoning, '').length >= 10 ? answer : null;
}

/** Kind ParallelAgents: the verdicts of the judges that gave one, and their consensus. */
export function runPanel(state: State, name: string, run: Interpretation): Left {
  const rule = mapOr(state.consensus);
  const judges = listOr(state.agents).map((member) => {
    const { agent, input, weight } = mapOr(member);
    const said = isDeployed(rendered(agent, name, run)) ? saidTo(rendered(input, name, run)) : undefined;
    return { answer: verdictIn(said), weight: numberOr(weight, 1) };
  });
  const judged = judges.flatMap(({ answer, weight }): (Judged & { readonly answer: JsonMap })[] => {
    if (answer === null) return [];
    return [{ score: numberOr(answer.score, 0), confidence: numberOr(answer.confidence, 0), weight, answer }];
  });
  const individual_results = judged.map(({ score, confidence, answer }) => {
    return { agent_id: OPEN, score, confidence, reasoning: textOr(answer.reasoning, '') };
  });
  // A judge without a verdict has only an index.
  const agents = judges.map(({ answer, weight }) => ({ agent_id: OPEN, output: answer ?? OPEN, weight }));
  const least = numberOr(rule.min_judges_required, 1);
  if (judged.length < least) {
    return { entry: { status: 'failed', individual_results, agents }, error: 'too_few_judges' };
  }
  const consensus = { ...consensusOf(rule, judged), strategy: textOr(rule.strategy, '') };
  return { entry: { status: 'success', consensus, individual_results, agents }, error: null };
}
