import type { TraceModel } from './model.ts';

/** Arrows from the turn that sent a message to its delivery, as pairs of deliveries: cause, effect, cause, effect, … */
type Arrows = Uint32Array;

/** The highlighted causal relation of deliveries. */
export type Flow = 'near' | 'causes' | 'effects' | 'path';

/** Most arrows drawn at once; more would hide each other. */
const MOST_ARROWS = 5_000;

/** "Why did this happen": from the delivery back to the root, nearest first. */
export function causesOf(model: TraceModel, delivery: number): Arrows {
  const found: number[] = [];
  const seen = new Set([delivery]);
  for (let one = delivery, cause = model.causeOf(one); cause !== -1; one = cause, cause = model.causeOf(one)) {
    found.push(cause, one);
    if (seen.has(cause)) break;
    seen.add(cause);
  }
  return Uint32Array.from(found);
}

/** "What did this cause": all later effects, nearest first. */
export function consequencesOf(model: TraceModel, delivery: number): Arrows {
  const found: number[] = [];
  const queue = [delivery];
  const seen = new Set(queue);
  for (const cause of queue) {
    for (const effect of model.effectsOf(cause)) {
      if (seen.has(effect)) continue;
      if (found.length >= MOST_ARROWS * 2) return Uint32Array.from(found);
      seen.add(effect);
      found.push(cause, effect);
      queue.push(effect);
    }
  }
  return Uint32Array.from(found);
}

/** The chain of causes that ended last. */
export function criticalPath(model: TraceModel): Arrows {
  const last = lastEnded(model);
  return last === -1 ? new Uint32Array(0) : causesOf(model, last);
}

/** The delivery that ended last, of each message its last attempt; -1 when there is none. */
function lastEnded(model: TraceModel): number {
  let found = -1;
  for (let one = 0; one < model.count; one += 1) {
    if (model.messages.last.at(model.message.at(one)) !== one) continue;
    if (found === -1 || model.endOf(one) > model.endOf(found)) found = one;
  }
  return found;
}

/** The arrows to show for a selected delivery (-1: none). */
export function arrowsOf(model: TraceModel, flow: Flow, selected: number): Arrows {
  if (flow === 'path') return criticalPath(model);
  if (selected === -1) return new Uint32Array(0);
  if (flow === 'causes') return causesOf(model, selected);
  if (flow === 'effects') return consequencesOf(model, selected);
  const cause = model.causeOf(selected);
  const effects = model.effectsOf(selected).slice(0, MOST_ARROWS);
  return Uint32Array.from([...(cause === -1 ? [] : [cause, selected]), ...effects.flatMap((one) => [selected, one])]);
}
