import { AsyncLocalStorage } from 'node:async_hooks';

/** What calls made by a running effect follow from. */
interface Causing {
  /** Id of the message whose turn requested the effect. */
  readonly cause: string;
  /** Its trace. */
  readonly trace: string;
  hasEnded: boolean;
}

const causing = new AsyncLocalStorage<Causing>();

/**
 * Runs the work of an effect. Calls of actors that it makes carry on the trace of the turn that requested it, with the
 * turn's message as their cause, so that a child that an effect starts is part of the trace of its parent. What the work
 * has begun and not ended, a connection for example, is not part of it later.
 */
export async function asEffectOf<T>(of: Pick<Causing, 'cause' | 'trace'>, work: () => Promise<T>): Promise<T> {
  const running: Causing = { cause: of.cause, trace: of.trace, hasEnded: false };
  try {
    return await causing.run(running, work);
  } finally {
    running.hasEnded = true;
  }
}

/** The cause and trace of a call made now: null and a new trace outside of effects, and for a call in another trace. */
export function followsFrom(
  asked: { readonly cause?: string | undefined; readonly trace?: string | undefined },
  newTrace: () => string,
): { readonly cause: string | null; readonly trace: string } {
  const running = causing.getStore();
  const current = running === undefined || running.hasEnded ? undefined : running;
  const trace = asked.trace ?? current?.trace ?? newTrace();
  const cause = asked.cause ?? (current?.trace === trace ? current.cause : null);
  return { cause, trace };
}
