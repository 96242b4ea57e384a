import type { SvcError } from '../../runtime/errors.ts';

/** What a failure means for what a node does next. */
export interface NextStep {
  readonly forgetToken: boolean;
  readonly forgetRegistration: boolean;
  /** `slowly`: nobody but an operator can help, so it is tried again once a minute. */
  readonly again: 'at once' | 'soon' | 'slowly';
}

/**
 * Reads a refusal. The first lost token or registration is had again at once; the second in a row waits, since then
 * having it again does not help.
 */
export function nextStep(error: SvcError, at: { readonly attested: boolean; readonly failures: number }): NextStep {
  const once = at.failures <= 1 ? 'at once' : 'soon';
  switch (error.row.grpc) {
    case 'PERMISSION_DENIED':
      // Another key is pinned to this id, or the registration is another node's: both begin anew.
      return { forgetToken: true, forgetRegistration: true, again: 'slowly' };
    case 'INVALID_ARGUMENT':
      return { forgetToken: false, forgetRegistration: true, again: 'slowly' };
    case 'UNAUTHENTICATED':
      // Without a token it is the join token that is wrong.
      if (!at.attested) return { forgetToken: true, forgetRegistration: false, again: 'slowly' };
      return { forgetToken: true, forgetRegistration: at.failures > 1, again: once };
    case 'FAILED_PRECONDITION':
    case 'NOT_FOUND':
      return { forgetToken: false, forgetRegistration: true, again: at.attested ? once : 'soon' };
    default:
      return { forgetToken: false, forgetRegistration: false, again: 'soon' };
  }
}
