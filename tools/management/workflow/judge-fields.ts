import { z } from 'zod';
import { nameOrUuid, TEXT_CHARS } from '../fields.ts';

const CODE_QUALITY_JUDGE = 'code-quality-judge';
const MAX_JUDGES = 20;
const fraction = z.number().min(0).max(1);

/** How svc.workflow.create judges (spec 3). */
export const judgeArguments = {
  task_context: z.string().max(TEXT_CHARS).optional().describe('What the workflow is for; judges read it.'),
  judge_agents: z
    .array(nameOrUuid('a judge'))
    .min(1)
    .max(MAX_JUDGES)
    .default([CODE_QUALITY_JUDGE])
    .describe('Agents that judge it.'),
  min_score: fraction.default(0.8).describe('Score that each judge must give.'),
  min_confidence: fraction.default(0.7).describe('How sure each judge must be.'),
};

export const validationResults = z.array(
  z.strictObject({
    agent_id: z.string(),
    score: fraction,
    confidence: fraction,
    reasoning: z.string(),
    passed: z.boolean(),
  }),
);
