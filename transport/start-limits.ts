import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { RunningLimits, StartedKind, TierLimits } from '../security/api.ts';
import type { StartKeys } from './idempotency.ts';

/** Of callers; actors, whose starts were counted with their parent's, come without. */
export interface StartLimits {
  readonly tierLimits?: TierLimits;
  readonly runningLimits?: RunningLimits;
  /** Without it a key belongs to its tenant and names one id for ever. */
  readonly startKeys?: StartKeys;
}

interface Start {
  readonly identity: Identity;
  readonly kind: StartedKind;
  readonly id: string;
}

const COUNTED = { execution: 'agent_executions', workflow: 'workflow_executions' } as const;

/** Takes one start from the rates of a caller, and a place among what it runs at once. Throws `rate_limited`. */
export async function takeStart({ tierLimits, runningLimits }: StartLimits, start: Start): Promise<void> {
  const { identity, kind, id } = start;
  await runningLimits?.admit(identity, kind, id);
  try {
    await tierLimits?.take(identity, COUNTED[kind]);
  } catch (thrown) {
    await runningLimits?.release(identity, id);
    throw thrown;
  }
}

/** Makes the start; gives its place back when it certainly did not happen. */
export async function startInPlace<T>(limits: StartLimits, start: Start, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (thrown) {
    // After a conflict something else runs under this id, and has the place; after a time-out nobody knows.
    const isRefused = thrown instanceof SvcError && thrown.row.kind === 'terminal' && thrown.code !== 'conflict';
    if (isRefused) await limits.runningLimits?.release(start.identity, start.id);
    throw thrown;
  }
}
