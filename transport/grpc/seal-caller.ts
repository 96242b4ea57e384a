import type { Metadata } from '@grpc/grpc-js';
import type { SealCaller } from '../seal/parts.ts';
import { callerOf } from './call-context.ts';
import { atDeadline } from './deadline.ts';
import type { UnaryCall } from './unary.ts';

/** On whose behalf a call of an agent came in; another endpoint gives its own: null where no metadata says so. */
export type SealCallers = (metadata: Metadata) => SealCaller | null | Promise<SealCaller | null>;

/** Of the public endpoint: the tenant of the bearer token. Calls without one, where those are let in, are nobody's. */
export const sealCaller: SealCallers = (metadata) => {
  const { identity } = callerOf(metadata);
  return { tenant: identity.tenant, identity, verified: identity.kind !== 'local' };
};

/** Runs `work` with a signal that ends when nobody waits for its answer any more; what it asked for goes on. */
export async function whileCalled<T>(call: UnaryCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const gone = new AbortController();
  const onGone = (): void => gone.abort();
  const forgetDeadline = atDeadline(call.getDeadline(), onGone);
  call.once('cancelled', onGone);
  if (call.cancelled) onGone();
  try {
    return await work(gone.signal);
  } finally {
    forgetDeadline();
    call.off('cancelled', onGone);
  }
}
