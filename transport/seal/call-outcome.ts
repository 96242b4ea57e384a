import type { InvokeAnswer } from '../../actors/tool-session/api.ts';
import type { ToolOutcome } from '../../manifests/tool/call.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { brokenCall, deniedCall, SESSION_INACTIVE } from './refusals.ts';

/**
 * What the tool answered in its session, its own failure included. Throws the row of the error table of a call that was
 * denied, is of no open session, or could not be made (spec 2, SEAL: statuses).
 */
export async function callOutcome(asked: Promise<InvokeAnswer>): Promise<ToolOutcome> {
  const answer = await answered(asked);
  switch (answer.kind) {
    case 'outcome':
      return answer.outcome;
    case 'denied':
      throw deniedCall(answer);
    case 'inactive':
      throw deniedCall({ reason: SESSION_INACTIVE, message: answer.message });
    case 'invalid_request':
      throw new SvcError('invalid_argument', answer.message);
  }
}

async function answered(asked: Promise<InvokeAnswer>): Promise<InvokeAnswer> {
  try {
    return await asked;
  } catch (thrown) {
    throw brokenCall(toSvcError(thrown));
  }
}
