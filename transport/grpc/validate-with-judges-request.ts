import type { ConsensusRule, Judge } from '../../actors/judge-panel/api.ts';
import { TemplateError } from '../../manifests/template/fault.ts';
import { renderTemplate } from '../../manifests/template/render.ts';
import {
  type ConsensusConfig,
  ConsensusConfig_Strategy as Strategy,
  type ValidateRequest,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { contextOf } from './execute-agent-request.ts';
import type { GrpcLimits } from './limits.ts';

const MAX_JUDGES = 100;
const MAX_AGENT_ID_CHARS = 128;
/** What one execution takes as its input. */
const MAX_INPUT_CHARS = 1024 * 1024;
/** All inputs travel in one message, whose limit is 16 MiB (design K7). */
const MAX_INPUTS_BYTES = 12 * 1024 * 1024;
/** original-facts 1.4; the deadline of the call ends a panel earlier. */
const JUDGE_TIMEOUT_MS = 600_000;

const invalid = (field: string, expected: string): SvcError =>
  new SvcError('invalid_argument', `${field}: expected ${expected}`, { field });

/**
 * The judges with what each is asked: its template rendered with `task`, `output`, `context` and the context's own
 * members, or without a template the JSON {task, output, criteria?, context}. Throws `invalid_argument`.
 */
export function judgesOf(request: ValidateRequest, limits: GrpcLimits): Judge[] {
  const { judges, task, output } = request;
  if (judges.length === 0) throw invalid('judges', 'at least one judge');
  if (judges.length > MAX_JUDGES) throw invalid('judges', `at most ${MAX_JUDGES} judges`);
  const context = contextOf(request.context_json, limits) ?? {};
  const scope: JsonObject = { ...context, task, output, context };
  const { criteria } = context;
  const plain = JSON.stringify({ task, output, ...(criteria === undefined ? {} : { criteria }), context });
  const asked = judges.map(({ agent_id, input_template, weight }, index): Judge => {
    const field = `judges[${index}]`;
    const input = input_template === '' ? plain : rendered(input_template, scope, `${field}.input_template`);
    if (input.length > MAX_INPUT_CHARS) throw invalid(field, `an input of at most ${MAX_INPUT_CHARS} characters`);
    return {
      agent: agentOf(agent_id, `${field}.agent_id`),
      input,
      weight: weightOf(weight, `${field}.weight`),
      timeout_ms: JUDGE_TIMEOUT_MS,
    };
  });
  const bytes = asked.reduce((sum, { input }) => sum + Buffer.byteLength(input), 0);
  if (bytes > MAX_INPUTS_BYTES) throw invalid('judges', `inputs of at most ${MAX_INPUTS_BYTES} bytes together`);
  return asked;
}

function agentOf(agentId: string, field: string): string {
  if (agentId === '' || agentId.length > MAX_AGENT_ID_CHARS) throw invalid(field, 'the UUID or name of an agent');
  return agentId;
}

/** proto3 cannot tell 0 from nothing said: both are the default. */
function weightOf(weight: number, field: string): number {
  if (weight === 0) return 1;
  if (!(weight >= 1e-6 && weight <= 1e6)) throw invalid(field, 'a number from 0.000001 to 1000000, or none for 1.0');
  return decimal(weight);
}

function rendered(template: string, scope: JsonObject, field: string): string {
  try {
    return renderTemplate(template, scope, { state: field, maxChars: MAX_INPUT_CHARS });
  } catch (thrown) {
    if (thrown instanceof TemplateError) throw invalid(field, `a template that renders: ${thrown.message}`);
    throw thrown;
  }
}

const STRATEGIES: ReadonlyMap<number, ConsensusRule['strategy']> = new Map<number, ConsensusRule['strategy']>([
  [Strategy.WEIGHTED_AVERAGE, 'weighted_average'],
  [Strategy.MAJORITY_VOTE, 'majority'],
  [Strategy.UNANIMOUS, 'unanimous'],
  [Strategy.ANY_APPROVED, 'any_approved'],
]);

/**
 * The rule of a panel; without a config a weighted average. A weighted average with `n` is one of the best `n` judges,
 * without it of all; other strategies have no use for `n`. Throws `invalid_argument`.
 */
export function ruleOf(config: ConsensusConfig | undefined): ConsensusRule {
  const strategy = STRATEGIES.get(config?.strategy ?? Strategy.WEIGHTED_AVERAGE);
  if (strategy === undefined) throw invalid('consensus.strategy', 'a strategy that ConsensusConfig.Strategy names');
  const { threshold, agreement, n } = config ?? {};
  if (n === 0) throw invalid('consensus.n', 'at least 1, or none for all judges');
  const best = n !== undefined && strategy === 'weighted_average';
  return {
    strategy: best ? 'best_of_n' : strategy,
    threshold: threshold === undefined ? 0.7 : fractionOf(threshold, 'consensus.threshold'),
    ...(agreement === undefined ? {} : { min_agreement_confidence: fractionOf(agreement, 'consensus.agreement') }),
    ...(best ? { n } : {}),
    min_judges_required: 1,
    confidence_weighting: { agreement_factor: 0.7, self_confidence_factor: 0.3 },
    early_stop: false,
  };
}

function fractionOf(value: number, field: string): number {
  if (!(value >= 0 && value <= 1)) throw invalid(field, 'a number from 0.0 to 1.0');
  return decimal(value);
}

/**
 * The decimal number a caller wrote: a float of the wire is binary with 24 bits, and 0.8 arrives as 0.800000011920929,
 * which a judge's 0.8 would not reach.
 */
const decimal = (float: number): number => Number(float.toPrecision(7));
