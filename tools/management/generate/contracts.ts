import { z } from 'zod';
import { toolArguments } from '../../contract/arguments.ts';
import { defineContract } from '../../contract/define-contract.ts';
import { skipsJudge } from '../../contract/judge-defaults.ts';
import { starting } from '../conduct.ts';
import { TEXT_CHARS } from '../fields.ts';
import { started } from '../results.ts';

/** Argument of svc.agent.generate and svc.workflow.generate, and the body of their routes. */
export const generateRequest = {
  input: z
    .string()
    .min(1)
    .max(TEXT_CHARS)
    .refine((text) => text.trim() !== '', 'expected what it should do, in words')
    .describe('What it should do, in plain words.'),
};

export const agentGenerate = defineContract({
  ...starting,
  result: started,
  name: 'svc.agent.generate',
  description:
    'Has an agent written from a description in plain words, checked and deployed. Answers at once; svc.agent.wait waits for ' +
    'the end, and its last_output names the agent.',
  input: toolArguments(generateRequest),
  skipJudge: skipsJudge('svc.agent.generate'),
});

export const workflowGenerate = defineContract({
  ...starting,
  result: started,
  name: 'svc.workflow.generate',
  description:
    'Has a workflow written from a description in plain words, checked, judged and deployed. Answers at once; svc.task.wait ' +
    'waits for the end, and its last_output names the workflow.',
  input: toolArguments(generateRequest),
  skipJudge: skipsJudge('svc.workflow.generate'),
});

export const GENERATE_CONTRACTS = [agentGenerate, workflowGenerate] as const;
