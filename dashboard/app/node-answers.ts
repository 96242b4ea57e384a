import { useSyncExternalStore } from 'react';

/** A node that has sent nothing for this time after a call, not even to other calls, is taken as one that does not answer. */
const PATIENCE_MS = 10_000;
/** Accuracy of the time in the head of an answer, and of the way that it took. A smaller difference is no difference. */
const CLOCK_ACCURACY_MS = 2_000;
/** After a longer call the time of its answer says too little. */
const LONGEST_SAMPLE_MS = 5_000;

let silentSince: number | null = null;
let answeredAt = 0;
let offsetMs = 0;
const listeners = new Set<() => void>();

function setSilent(since: number | null): void {
  if (silentSince === since) return;
  silentSince = since;
  for (const listener of listeners) listener();
}

function noteSilence(from: number): void {
  if (answeredAt < from) setSilent(silentSince ?? from);
}

function noteAnswer(date: string | null, began: number): void {
  answeredAt = Date.now();
  setSilent(null);
  const sent = Date.parse(date ?? '');
  if (Number.isNaN(sent) || answeredAt - began > LONGEST_SAMPLE_MS) return;
  // The head has whole seconds.
  const found = sent + 500 - (began + answeredAt) / 2;
  if (Math.abs(found - offsetMs) >= CLOCK_ACCURACY_MS) offsetMs = Math.abs(found) < CLOCK_ACCURACY_MS ? 0 : found;
}

/**
 * Now by the clock of the node, which all times of its answers are from: the clock of the browser may be wrong, and ages and
 * durations would be, too.
 */
export const nodeNow = (): number => Date.now() + offsetMs;

/** `fetch` that notes whether the node answers, and what its clock says. */
export const fetchNoting: typeof fetch = async (input, init) => {
  const began = Date.now();
  // A frozen node takes the call and sends nothing.
  const timer = setTimeout(() => noteSilence(began), PATIENCE_MS);
  try {
    const response = await fetch(input, init);
    noteAnswer(response.headers.get('date'), began);
    return response;
  } catch (error) {
    // Only a failed connection is a TypeError: a call that the page itself ended is none.
    if (error instanceof TypeError) noteSilence(began);
    throw error;
  } finally {
    clearTimeout(timer);
  }
};

/** Since when the node has not answered, by the clock of the browser; null while it does. */
export const useSilence = (): number | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => silentSince,
  );
