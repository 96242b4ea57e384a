import { z } from 'zod';
import { TemplateError } from '../../../manifests/template/tree.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { keepHead } from '../../execution/bounded-text.ts';
import { LIMITS } from '../limits.ts';
import type { Awaiting, IdleWorkflow } from '../state.ts';

/** Why a state failed; the reason of the run when no transition matches. */
export interface StepError {
  readonly code: string;
  readonly message: string;
}

/** The failure of a command or container that ran, in its result. */
export const StepFailed = z.object({ code: z.string(), message: z.string() });

/** How a state ended. `record`: its entry on the blackboard beside `status` and `error`. */
export interface StepResult {
  readonly record: JsonObject;
  /** Null: success. */
  readonly error: StepError | null;
  /** Set by `finalize`: the run completes here, without trying its transitions. */
  readonly final?: true;
}

/** An entered state: it waits for one thing, or has ended already. */
export type Begun =
  | { readonly kind: 'waits'; readonly awaiting: Awaiting }
  | { readonly kind: 'ended'; readonly run: IdleWorkflow; readonly result: StepResult };

/** Fails the current state with this code. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const succeeded = (record: JsonObject): StepResult => ({ record, error: null });

export const failed = (code: string, message: string, record: JsonObject = {}): StepResult => ({
  record,
  error: { code, message: keepHead(message, LIMITS.errorChars) },
});

/** A thrown error as a failed state; an unknown error is thrown again. */
export function failureOf(thrown: unknown): StepResult {
  if (thrown instanceof StepFailure) return failed(thrown.code, thrown.message);
  if (thrown instanceof TemplateError) return failed(`template_${thrown.code}`, thrown.message);
  // JSON.stringify throws this for a value that is nested too deep for the stack.
  if (thrown instanceof RangeError) return failed('payload_too_large', 'a value is nested too deep');
  if (thrown instanceof SvcError && thrown.row.kind !== 'bug') return failed(thrown.code, thrown.message);
  throw thrown;
}
