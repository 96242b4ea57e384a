import { randomUUID } from 'node:crypto';
import { requireStartable } from '../../catalog/api.ts';
import { renderTemplate } from '../../manifests/template/rendering.ts';
import { TemplateError } from '../../manifests/template/tree.ts';
import {
  type ConsensusConfig,
  ConsensusConfig_Strategy as Strategy,
  ValidateRequest,
  ValidateResponse,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { ConsensusRule, Judge, JudgePanelApi, PanelConcluded } from '../../usecases/judge-panels.ts';
import { atDeadline, callerOf, hasBegun, ownerOf, type UnaryCall } from './call-context.ts';
import { contextOf } from './execute-agent.ts';
import type { GrpcLimits } from './limits.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes, unary } from './service.ts';

type Parts = Pick<GrpcParts, 'agents' | 'limits' | 'logger' | 'streams'>;

/**
 * ValidateWithJudges (G9): judges of the caller's tenant, run as the caller, give one verdict. When the call ends
 * early, by cancel, deadline, a lost connection or a closing node, the panel and its judges end too. Answers
 * INVALID_ARGUMENT naming the field, NOT_FOUND naming the judge, and FAILED_PRECONDITION when no judge gave a verdict.
 */
export const validateWithJudges = (parts: Parts, panels: JudgePanelApi): UnaryInBytes =>
  unary(parts, async (call) => {
    const { identity, trace } = callerOf(call.metadata);
    const request = decoded(ValidateRequest, call.request);
    const consensus = ruleOf(request.consensus);
    const judges = await deployed(await judgesOf(request, parts.limits), identity, parts);
    const concluded = await whileCalled(call, parts, (signal) =>
      panels.validate(
        { panelId: randomUUID(), judges, consensus, identity },
        { trace, signal, onBegun: () => hasBegun(call.metadata) },
      ),
    );
    return ValidateResponse.encode(answer(concluded, judges)).finish();
  });

interface DeployedJudge extends Judge {
  /** The name or id that the caller gave. */
  readonly given: string;
}

/** Finds the UUID of each judge. Throws `not_found` before any judge starts. */
async function deployed(judges: readonly Judge[], identity: Identity, { agents }: Parts): Promise<DeployedJudge[]> {
  return Promise.all(
    judges.map(async (judge, index) => {
      try {
        const agent = await agents.get(identity, judge.agent);
        requireStartable(agent);
        const { agent_id } = agent;
        return { ...judge, agent: agent_id, given: judge.agent };
      } catch (cause) {
        if (!(cause instanceof SvcError) || cause.code !== 'not_found') throw cause;
        const field = `judges[${index}].agent_id`;
        throw new SvcError('not_found', `${field}: no agent ${judge.agent} is deployed in this tenant`, {
          field,
          cause,
        });
      }
    }),
  );
}

/** Runs `work` with a signal that aborts when the call has ended. */
async function whileCalled<T>(call: UnaryCall, parts: Parts, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  using waiting = parts.streams.open(ownerOf(call.metadata));
  const forgetDeadline = atDeadline(call.getDeadline(), () => waiting.stop('client_gone'));
  call.once('cancelled', () => waiting.stop('client_gone'));
  if (call.cancelled) waiting.stop('client_gone');
  try {
    return await work(waiting.signal);
  } catch (thrown) {
    if (waiting.signal.aborted && waiting.signal.reason === 'server_closing') {
      throw new SvcError('unavailable', 'this node is closing; its judges were stopped, ask again', { cause: thrown });
    }
    throw thrown;
  } finally {
    forgetDeadline();
  }
}

/** Most characters of one judge in `reasoning`; `individual_results` has the full text. */
const QUOTED_CHARS = 500;

function answer(concluded: PanelConcluded, judges: readonly DeployedJudge[]): ValidateResponse {
  const { consensus, individual_results: results, binary_valid } = concluded;
  if (consensus === null) throw new SvcError('internal', 'a concluded panel has no consensus');
  const names = new Map(judges.map(({ agent, given }) => [agent, given]));
  const individual = results.map(({ agent_id, ...result }) => ({
    judge_id: names.get(agent_id) ?? agent_id,
    ...result,
  }));
  const said = individual.map(({ judge_id, score, confidence, reasoning }) => {
    const quoted = reasoning.length > QUOTED_CHARS ? `${reasoning.slice(0, QUOTED_CHARS)}…` : reasoning;
    return `${judge_id} (score ${score}, confidence ${confidence}): ${quoted.toWellFormed()}`;
  });
  const verdict = `${consensus.strategy}: ${results.length} of ${judges.length} ${judges.length === 1 ? 'judge' : 'judges'} gave a verdict, ${binary_valid ? 'valid' : 'not valid'}`;
  return {
    score: consensus.score,
    confidence: consensus.confidence,
    reasoning: [verdict, ...said].join('\n'),
    binary_valid,
    individual_results: individual,
  };
}

const MAX_JUDGES = 100;

const MAX_AGENT_ID_CHARS = 128;

/** Most characters of one execution's input. */
const MAX_INPUT_CHARS = 1024 * 1024;

/** All inputs together, bytes: they travel in one message, whose limit is 16 MiB (K7). */
const MAX_INPUTS_BYTES = 12 * 1024 * 1024;

/** Time-out of a judge, ms (G9). The deadline of the call may end the panel earlier. */
const JUDGE_TIMEOUT_MS = 600_000;

/**
 * The judges with their inputs: the judge's template rendered with `task`, `output`, `context` and the members of the
 * context, or without a template the JSON {task, output, criteria?, context}. Throws `invalid_argument`.
 */
async function judgesOf(request: ValidateRequest, limits: GrpcLimits): Promise<Judge[]> {
  const { judges, task, output } = request;
  if (judges.length === 0) throw invalidField('judges', 'expected at least one judge');
  if (judges.length > MAX_JUDGES) throw invalidField('judges', `expected at most ${MAX_JUDGES} judges`);
  const context = (await contextOf(request.context_json, limits)) ?? {};
  const scope: JsonObject = { ...context, task, output, context };
  const { criteria } = context;
  const plain = JSON.stringify({ task, output, ...(criteria === undefined ? {} : { criteria }), context });
  const asked = judges.map(({ agent_id, input_template, weight }, index): Judge => {
    const field = `judges[${index}]`;
    const input = input_template === '' ? plain : rendered(input_template, scope, `${field}.input_template`);
    if (input.length > MAX_INPUT_CHARS)
      throw invalidField(field, `expected an input of at most ${MAX_INPUT_CHARS} characters`);
    return {
      agent: agentOf(agent_id, `${field}.agent_id`),
      input,
      weight: weightOf(weight, `${field}.weight`),
      timeout_ms: JUDGE_TIMEOUT_MS,
    };
  });
  const bytes = asked.reduce((sum, { input }) => sum + Buffer.byteLength(input), 0);
  if (bytes > MAX_INPUTS_BYTES)
    throw invalidField('judges', `expected inputs of at most ${MAX_INPUTS_BYTES} bytes together`);
  return asked;
}

function agentOf(agentId: string, field: string): string {
  if (agentId === '' || agentId.length > MAX_AGENT_ID_CHARS)
    throw invalidField(field, 'expected the UUID or name of an agent');
  return agentId;
}

/** The weight of a judge. 0 means the default, since proto3 cannot tell 0 from a missing value. */
function weightOf(weight: number, field: string): number {
  if (weight === 0) return 1;
  const written = decimal(weight);
  if (!(written >= 1e-6 && written <= 1e6))
    throw invalidField(field, 'expected a number from 0.000001 to 1000000, or none for 1.0');
  return written;
}

function rendered(template: string, scope: JsonObject, field: string): string {
  try {
    return renderTemplate(template, scope, { state: field, maxChars: MAX_INPUT_CHARS });
  } catch (thrown) {
    if (thrown instanceof TemplateError)
      throw invalidField(field, `expected a template that renders: ${thrown.message}`);
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
 * The consensus rule of a panel; without a config a weighted average. `n` limits a weighted average to the best `n`
 * judges and is refused with other strategies. Throws `invalid_argument`.
 */
function ruleOf(config: ConsensusConfig | undefined): ConsensusRule {
  const strategy = STRATEGIES.get(config?.strategy ?? Strategy.WEIGHTED_AVERAGE);
  if (strategy === undefined)
    throw invalidField('consensus.strategy', 'expected a strategy that ConsensusConfig.Strategy names');
  const { threshold, agreement, n } = config ?? {};
  if (n === 0) throw invalidField('consensus.n', 'expected at least 1, or none for all judges');
  if (n !== undefined && strategy !== 'weighted_average')
    throw invalidField('consensus.n', 'expected none: only WEIGHTED_AVERAGE takes the best n judges');
  const best = n !== undefined;
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
  if (!(value >= 0 && value <= 1)) throw invalidField(field, 'expected a number from 0.0 to 1.0');
  return decimal(value);
}

/**
 * The decimal number that a caller wrote. A float on the wire is binary with 24 bits: 0.8 arrives as 0.800000011920929,
 * and a judge's 0.8 would not reach it.
 */
const decimal = (float: number): number => Number(float.toPrecision(7));
