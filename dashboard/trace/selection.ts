import { OUTCOMES } from './batch.ts';
import type { TraceModel } from './model.ts';

/** Conditions from the address; empty texts are ignored. */
interface TraceFilter {
  /** Kind of the actor. */
  readonly kind: string;
  readonly outcome: string;
  /** Part of the address, or of the name of the run. */
  readonly actor: string;
  readonly node: string;
}

const OUTCOME_NAMES: readonly string[] = OUTCOMES;

/** Names of agents and workflows by the ids of their runs. */
export type RunNames = ReadonlyMap<string, string>;

const NO_NAMES: RunNames = new Map();

/** Name of the agent or workflow whose run an actor is. */
export const runNameOf = (address: string, names: RunNames): string | undefined =>
  names.get(address.slice(address.lastIndexOf('/') + 1));

export const kindOf = (address: string): string => address.slice(0, Math.max(0, address.indexOf('/')));

/** 1 for each delivery that the filter shows; null when it shows all. */
export function shownBy(
  model: TraceModel,
  { kind, outcome, actor, node }: TraceFilter,
  runNames: RunNames = NO_NAMES,
): Uint8Array | null {
  if (kind === '' && outcome === '' && actor === '' && node === '') return null;
  const wanted = actor.toLowerCase();
  const lanes = Uint8Array.from(model.names, (name) =>
    (kind === '' || kindOf(name) === kind) && holds(name, wanted, runNames) ? 1 : 0,
  );
  const outcomeNumber = OUTCOME_NAMES.indexOf(outcome);
  const nodeNumber = model.names.indexOf(node);
  const shown = new Uint8Array(model.count);
  for (let one = 0; one < model.count; one += 1) {
    if (lanes[model.to.at(one)] !== 1) continue;
    if (outcome !== '' && model.outcome.at(one) !== outcomeNumber) continue;
    if (node !== '' && model.node.at(one) !== nodeNumber) continue;
    shown[one] = 1;
  }
  return shown;
}

/** Whether a name of the trace, or the name of the run with this address, contains a lower-case text. */
const holds = (name: string, wanted: string, runNames: RunNames): boolean =>
  name.toLowerCase().includes(wanted) || runNameOf(name, runNames)?.toLowerCase().includes(wanted) === true;

/** Deliveries whose type, actor, run, node, outcome or message id holds a text, by time. */
export function hitsOf(model: TraceModel, text: string, shown: Uint8Array | null, runNames = NO_NAMES): Uint32Array {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return new Uint32Array(0);
  const names = Uint8Array.from(model.names, (name) => (holds(name, wanted, runNames) ? 1 : 0));
  const outcomes = OUTCOMES.map((one) => one.includes(wanted));
  const messages = new Set(model.messages.ids.holding(text.trim()));
  const found: number[] = [];
  for (let one = 0; one < model.count; one += 1) {
    if (shown !== null && shown[one] !== 1) continue;
    const isHit =
      names[model.type.at(one)] === 1 ||
      names[model.to.at(one)] === 1 ||
      names[model.node.at(one)] === 1 ||
      outcomes[model.outcome.at(one)] === true ||
      messages.has(model.message.at(one));
    if (isHit) found.push(one);
  }
  return Uint32Array.from(found.sort((a, b) => model.time.at(a) - model.time.at(b) || a - b));
}

/** All shown deliveries by time. */
export function inOrder(model: TraceModel, shown: Uint8Array | null): Uint32Array {
  const all = Uint32Array.from({ length: model.count }, (_one, index) => index);
  const some = shown === null ? all : all.filter((one) => shown[one] === 1);
  return some.sort((a, b) => model.time.at(a) - model.time.at(b) || a - b);
}

/** The next or previous delivery of an ordered list; the first or last one when it is not in the list. */
export function stepIn(order: Uint32Array, from: number, step: 1 | -1): number {
  const at = order.indexOf(from);
  if (at === -1) return (step === 1 ? order[0] : order.at(-1)) ?? -1;
  return order[at + step] ?? from;
}
