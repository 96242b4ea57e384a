import { toolArguments } from '../../contract/arguments.ts';
import { defineContract } from '../../contract/define-contract.ts';
import { skipsJudge } from '../../contract/judge-defaults.ts';
import { reading, starting } from '../conduct.ts';
import { executionId } from '../fields.ts';
import { workflowWait } from '../workflow/run-contracts.ts';
import { IntentStarted, IntentStatus } from './answers.ts';
import { intentRequest, promptRequest } from './request.ts';

export const executeIntent = defineContract({
  ...starting,
  name: 'svc.execute.intent',
  description:
    'Reaches a goal by a program: finds or makes an agent that writes it, runs it in a container without a network, and ' +
    'answers at once; wait for the result with svc.execute.wait and read it with svc.execute.status.',
  input: toolArguments(intentRequest),
  result: IntentStarted,
  skipJudge: skipsJudge('svc.execute.intent'),
});

export const execute = defineContract({
  ...starting,
  name: 'svc.execute',
  description: 'Reaches a goal, given in plain words, by a program: svc.execute.intent with its defaults.',
  input: toolArguments(promptRequest),
  result: IntentStarted,
  skipJudge: skipsJudge('svc.execute'),
});

export const executeStatus = defineContract({
  ...reading,
  name: 'svc.execute.status',
  description: 'Says how svc.execute.intent stands, and its result when it has completed.',
  input: toolArguments({ pipeline_execution_id: executionId }),
  result: IntentStatus,
  skipJudge: skipsJudge('svc.execute.status'),
});

/** The pipeline is a workflow, and is waited for as one. */
export const executeWait = defineContract({
  ...workflowWait,
  name: 'svc.execute.wait',
  skipJudge: skipsJudge('svc.execute.wait'),
});

export const EXECUTE_CONTRACTS = [execute, executeIntent, executeStatus, executeWait] as const;
