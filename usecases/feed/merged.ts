import type { Clock } from '../../runtime/clock.ts';

interface MergeOptions {
  readonly clock: Clock;
  /** After this many milliseconds without an item, null is yielded. */
  readonly heartbeatMs: number;
  readonly signal: AbortSignal;
  /** Called once, when the reader has left or all sources have ended. It must end the sources that still wait. */
  readonly onEnd: () => void;
}

type Read<T> = { readonly source: AsyncGenerator<T> } & (
  | { readonly result: IteratorResult<T> }
  | { readonly thrown: unknown }
);

/**
 * Items of several sources as they come; each source is read one item ahead. An error of one source ends all of them
 * and is thrown.
 */
export async function* merged<T>(
  sources: readonly AsyncGenerator<T>[],
  { clock, heartbeatMs, signal, onEnd }: MergeOptions,
): AsyncGenerator<T | null> {
  const ready: Read<T>[] = [];
  let wake = (): void => {};
  const take = (read: Read<T>): void => {
    ready.push(read);
    wake();
  };
  const read = (source: AsyncGenerator<T>): void => {
    source.next().then(
      (result) => take({ source, result }),
      (thrown: unknown) => take({ source, thrown }),
    );
  };
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  let open = sources.length;
  for (const source of sources) read(source);
  try {
    while (open > 0 && !signal.aborted) {
      // One promise for each wait: a race with promises that live as long as the stream would keep all its waits in memory.
      const isQuiet = await new Promise<boolean>((resolve) => {
        const cancel = clock.after(heartbeatMs, () => resolve(true));
        wake = () => {
          cancel();
          resolve(false);
        };
        if (ready.length > 0 || signal.aborted) wake();
      });
      if (signal.aborted) return;
      const next = ready.shift();
      if (next === undefined) {
        if (isQuiet) yield null;
        continue;
      }
      if ('thrown' in next) throw next.thrown;
      if (next.result.done === true) {
        open -= 1;
        continue;
      }
      read(next.source);
      yield next.result.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    onEnd();
    await Promise.allSettled(sources.map((source) => source.return(undefined)));
  }
}

/** Resolves when the promise does, or at the abort. Removes its listener from the signal. */
export function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', end, { once: true });
    promise.then(end, end);
  });
}
