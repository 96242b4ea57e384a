import { z } from 'zod';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { Identity } from '../../runtime/identity.ts';

/** What the starts of agents and workflows have in common. */
export const childFields = {
  /** Made by the parent's turn, so that a repeated start finds the child it started. */
  execution_id: z.uuid(),
  /** In whose name it runs; the tenant is the parent's. */
  identity: Identity,
};

/** Name or UUID of what is started. */
export const nameOrId = z.string().min(1).max(256);

/** What of the effect's context a start may use. */
export type ChildCall = Pick<EffectContext, 'signal' | 'trace'>;

export interface ChildStart<Started> {
  readonly executionId: string;
  readonly identity: Identity;
  /** For errors: `agent "judge"`. */
  readonly what: string;
  start(): Promise<Started>;
  cancel(tenant: string, executionId: string): Promise<void>;
}

/**
 * Starts a child for its parent. When the parent stopped wanting it meanwhile, the child is cancelled; a node that only
 * stops, or lost its claim, leaves it running, for the next attempt finds it by its id. Throws `forbidden` for an
 * identity of another tenant, `not_found` naming what is not deployed, `validation_failed` with every misfit, else what
 * `start` throws.
 */
export async function startChild<Started>(child: ChildStart<Started>, context: EffectContext): Promise<Started> {
  const { tenant, signal } = context;
  if (child.identity.tenant !== tenant) throw new SvcError('forbidden', 'a child runs in the tenant of its parent');
  signal.throwIfAborted();
  const sent = child.start();
  try {
    return await sent;
  } catch (thrown) {
    throw explained(toSvcError(thrown), child.what);
  } finally {
    if (isUnwanted(signal)) await withdraw(child, tenant);
  }
}

/** Only a cancel of the effect carries this code (EffectContext.signal). */
function isUnwanted({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof SvcError && reason.code === 'cancelled';
}

/** A child that never started, or has ended, needs no cancel. */
async function withdraw<Started>({ cancel, executionId }: ChildStart<Started>, tenant: string): Promise<void> {
  try {
    await cancel(tenant, executionId);
  } catch (thrown) {
    const { code } = toSvcError(thrown);
    if (code !== 'not_found' && code !== 'failed_precondition') throw thrown;
  }
}

/** The parent reads code and text only. */
function explained(error: SvcError, what: string): SvcError {
  const { code, message, details = [] } = error;
  if (code === 'not_found') return new SvcError(code, `${what} is not deployed in this tenant`, { cause: error });
  if (code !== 'validation_failed') return error;
  const misfits = details.slice(0, 10).map((detail) => `${detail.path ?? 'input'}: ${detail.message}`);
  const text = [`${what}: ${message}`, ...misfits].join('; ');
  return new SvcError(code, text, { details, cause: error });
}
