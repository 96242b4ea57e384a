import { z } from 'zod';
import { EffectResult } from '../../runtime/effect.ts';
import { Identity } from '../../runtime/identity.ts';
import { jsonField, jsonObjectField } from '../../runtime/json.ts';
import { Notify } from '../../runtime/message.ts';
import { ExecutionUpdate } from '../execution/update.ts';

const fraction = z.number().min(0).max(1);

/** One judge: an agent and its rendered input. */
export const Judge = z.object({
  /** Name or UUID. */
  agent: z.string().min(1).max(128),
  input: z.string(),
  /** Only ratios matter; all 0 means equal weights. */
  weight: z.number().min(0).max(1e6),
  /** Counted from the request, so it includes the start. */
  timeout_ms: z.number().int().min(1).max(86_400_000),
});

export type Judge = z.output<typeof Judge>;

/** How verdicts become one (W10, W11, G10). */
export const ConsensusRule = z.object({
  strategy: z.enum(['weighted_average', 'majority', 'unanimous', 'best_of_n', 'any_approved']),
  threshold: fraction,
  min_agreement_confidence: fraction.optional(),
  n: z.number().int().min(1).optional(),
  min_judges_required: z.number().int().min(1),
  confidence_weighting: z.object({ agreement_factor: fraction, self_confidence_factor: fraction }),
  /** Conclude as soon as no missing judge can change the outcome. */
  early_stop: z.boolean(),
});

export type ConsensusRule = z.output<typeof ConsensusRule>;

/** Asks a panel; the only message that creates one. Convening again under the same id gets the same answer. */
export const Convene = z.object({
  panel_id: z.string().min(1).max(128),
  judges: z.array(Judge).min(1).max(100),
  consensus: ConsensusRule,
  workflow_execution_id: z.string().max(128).optional(),
  /** Depth of the judges' executions; absent: 0. */
  depth: z.number().int().min(0).max(100).optional(),
  /** The caller in whose name the judges run. Default: the identity of the message. */
  identity: Identity.optional(),
  notify: Notify.optional(),
  /** Whether a verdict inside prose is read; absent in messages of earlier versions. */
  in_prose: z.boolean().optional(),
  /** `RUN_RULES` of the run that asks; absent in messages of earlier versions. */
  rules: z.number().int().optional(),
});

export type Convene = z.output<typeof Convene>;

export const judgePanelMessages = {
  Convene,
  Cancel: z.object({ reason: z.string().max(1_000).optional() }),
  /** Answer of the effect `agent.start`; its context is `{judge}`, the index. */
  JudgeStarted: EffectResult,
  /** A judge's execution started or ended; context `{judge}`. */
  JudgeWord: ExecutionUpdate,
  JudgeTimedOut: z.object({ judge: z.number().int() }),
} as const;

/** The verdict of one judge (JudgeResult, G9). */
export const JudgeResult = z.object({
  agent_id: z.string(),
  score: fraction,
  confidence: fraction,
  reasoning: z.string(),
});

/** Payload of the message that a panel sends to the actor in `Convene.notify`. */
export const PanelConcluded = z.object({
  panel_id: z.string(),
  /** `failed`: fewer than `min_judges_required` judges gave a verdict; `error` lists the others, with reasons. */
  status: z.enum(['concluded', 'failed', 'cancelled']),
  error: z.string().nullable(),
  /** Set when asking again cannot help: the error of the judges that are missing; absent: it may help. */
  code: z.string().optional(),
  consensus: z
    .object({
      score: fraction,
      confidence: fraction,
      strategy: z.string(),
      metadata: jsonObjectField,
    })
    .nullable(),
  /** Whether the score reached the threshold and the confidence `min_agreement_confidence`. */
  binary_valid: z.boolean(),
  /** Judges whose verdict counts, in their order. */
  individual_results: z.array(JudgeResult),
  /**
   * All judges in their order; `output`: their text, parsed when it is JSON; null when there is none. `agent_id` is the
   * requested name when there is no such agent.
   */
  agents: z.array(z.object({ agent_id: z.string(), output: jsonField, weight: z.number() })),
  context: jsonField,
});

export type PanelConcluded = z.output<typeof PanelConcluded>;

const index = z.number().int();

/** Events of a panel (MultiJudgeConsensus, W21); `judge` is the judge's index in the request. */
export const judgePanelEvents = {
  JudgePanelConvened: z.object({
    panel_id: z.string(),
    workflow_execution_id: z.string().nullable(),
    judges: z.array(z.object({ agent: z.string(), execution_id: z.string(), weight: z.number() })),
    consensus: ConsensusRule,
    convened_at: z.string(),
  }),
  /** Its execution was started. */
  JudgeAsked: z.object({ judge: index, agent_id: z.string(), execution_id: z.string() }),
  JudgeAnswered: z.object({
    judge: index,
    agent_id: z.string(),
    execution_id: z.string(),
    score: z.number(),
    confidence: z.number(),
  }),
  /** It gives no verdict. `agent_id` is the requested name when there is no such agent. */
  JudgeFailed: z.object({ judge: index, agent_id: z.string(), execution_id: z.string(), reason: z.string() }),
  MultiJudgeConsensus: z.object({
    judge_scores: z.array(z.object({ agent_id: z.string(), score: z.number() })),
    final_score: z.number(),
    confidence: z.number(),
  }),
  JudgePanelConcluded: z.object({
    panel_id: z.string(),
    status: z.enum(['concluded', 'failed']),
    error: z.string().nullable(),
    strategy: z.string(),
    score: z.number().nullable(),
    confidence: z.number().nullable(),
    binary_valid: z.boolean(),
    /** Judges that were not awaited, because they could not change the outcome. */
    not_awaited: z.number().int(),
    concluded_at: z.string(),
  }),
  JudgePanelCancelled: z.object({ panel_id: z.string(), reason: z.string(), cancelled_at: z.string() }),
} as const;
