import { z } from 'zod';
import { ConsensusRule } from './messages.ts';

const index = z.number().int();

/** Events of a panel (original-facts 9.1 names MultiJudgeConsensus); `judge` is the index among the judges asked. */
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
  /** Left out; `agent_id` is the name it was asked by when no such agent was found. */
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
    /** Judges that were not waited for, because they could not change the outcome. */
    not_awaited: z.number().int(),
    concluded_at: z.string(),
  }),
  JudgePanelCancelled: z.object({ panel_id: z.string(), reason: z.string(), cancelled_at: z.string() }),
} as const;
