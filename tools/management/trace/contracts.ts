import { z } from 'zod';
import { anyObject, executionId } from '../../../usecases/fields.ts';
import { defineContract, reading, skipsJudge, toolArguments } from '../../contract/arguments.ts';

export const traceWhy = defineContract({
  ...reading,
  name: 'svc.trace.why',
  description:
    'Says why an execution or a workflow run waits, or why it ended so: one sentence, and the chain of links from the ' +
    'run to the last cause, which is last.',
  input: toolArguments({ execution_id: executionId }),
  result: z.strictObject({ waiting: z.boolean(), sentence: z.string(), chain: z.array(anyObject) }),
  skipJudge: skipsJudge('svc.trace.why'),
});

export const TRACE_CONTRACTS = [traceWhy] as const;
