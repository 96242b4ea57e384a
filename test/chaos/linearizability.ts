/** A client's call on a register that starts at 0. */
export type RegisterCall =
  | { readonly kind: 'read' }
  | { readonly kind: 'write'; readonly value: number }
  | { readonly kind: 'swap'; readonly from: number; readonly to: number };

/** When a call was made and answered. Times are of one monotonic clock. */
export interface Timed {
  readonly calledAt: number;
  /** Null when the call was not answered: it may take effect at any later time, or never. */
  readonly answeredAt: number | null;
}

/** One call as its client sees it. */
export interface Operation extends Timed {
  readonly client: number;
  readonly call: RegisterCall;
  /** Read: the value; swap: whether it swapped; write: null. Meaningless without an answer. */
  readonly answer: number | boolean | null;
}

/** A model that handles one call after the other. */
export interface SequentialModel<State, Call extends Timed> {
  readonly initial: State;
  /** The state after the call, or null when the model would give another answer. */
  step(state: State, call: Call): State | null;
  /** A key that is equal for equal states. */
  key(state: State): string;
}

type Verdict<Call = Operation> =
  | { readonly kind: 'linearizable' }
  /** The longest order that was found; no call that may come next fits after it. */
  | { readonly kind: 'anomaly'; readonly longest: readonly Call[]; readonly next: readonly Call[] }
  /** Too many orders to search; no statement about the history. */
  | { readonly kind: 'undecided'; readonly looked: number };

/** The register after a call, or null when the call would have another answer. */
function step(value: number, { call, answer, answeredAt }: Operation): number | null {
  const isKnown = answeredAt !== null;
  switch (call.kind) {
    case 'read':
      return isKnown && answer !== value ? null : value;
    case 'write':
      return call.value;
    case 'swap': {
      const swaps = value === call.from;
      if (isKnown && answer !== swaps) return null;
      return swaps ? call.to : value;
    }
  }
}

const REGISTER: SequentialModel<number, Operation> = { initial: 0, step, key: String };

/** The same check for a register. */
export function checkRegister(history: readonly Operation[], limit = 2_000_000): Verdict {
  // A read without an answer neither shows nor changes anything.
  const told = history.filter(({ call, answeredAt }) => call.kind !== 'read' || answeredAt !== null);
  return checkHistory(told, REGISTER, limit);
}

/**
 * Whether a history has a legal order: every call takes effect at one moment between call and answer (Wing and Gong's
 * search with Lowe's memory of configurations that led nowhere). Depth first over "which call took effect next"; a call
 * may be next when no other one that has not taken effect was answered before it was called.
 */
export function checkHistory<State, Call extends Timed>(
  history: readonly Call[],
  model: SequentialModel<State, Call>,
  limit = 2_000_000,
): Verdict<Call> {
  const calls = history.toSorted((a, b) => a.calledAt - b.calledAt);
  return new Search(calls, model, limit).run();
}

interface Frame<State> {
  readonly value: State;
  /** Calls that may be next, by index. */
  readonly candidates: readonly number[];
  tried: number;
  /** The call that led to this frame; -1 for the first frame. */
  readonly taken: number;
}

class Search<State, Call extends Timed> {
  readonly #calls: readonly Call[];
  readonly #model: SequentialModel<State, Call>;
  readonly #limit: number;
  readonly #isDone: boolean[];
  /** By index into the calls, in the order in which they were made. */
  readonly #answered: readonly number[];
  readonly #unanswered: readonly number[];
  /**
   * All calls before this one that were answered took effect, so the memory stays short for a history of any length.
   */
  #firstOpen = 0;
  readonly #seen = new Set<string>();
  #longest: readonly Call[] = [];
  #next: readonly Call[] = [];

  constructor(calls: readonly Call[], model: SequentialModel<State, Call>, limit: number) {
    this.#calls = calls;
    this.#model = model;
    this.#limit = limit;
    this.#isDone = calls.map(() => false);
    const all = calls.map((_, index) => index);
    this.#answered = all.filter((index) => calls[index]?.answeredAt !== null);
    this.#unanswered = all.filter((index) => calls[index]?.answeredAt === null);
  }

  run(): Verdict<Call> {
    const path: Frame<State>[] = [this.#frame(this.#model.initial, -1)];
    while (this.#firstOpen < this.#answered.length) {
      const top = path[path.length - 1];
      if (top === undefined) return { kind: 'anomaly', longest: this.#longest, next: this.#next };
      const next = this.#tryNext(top);
      if (next !== null) {
        path.push(next);
        this.#remember(path, next);
      } else {
        path.pop();
        if (top.taken >= 0) this.#undo(top.taken);
      }
      if (this.#seen.size > this.#limit) return { kind: 'undecided', looked: this.#seen.size };
    }
    return { kind: 'linearizable' };
  }

  /** Takes the next candidate that fits and was not tried in this configuration before. */
  #tryNext(frame: Frame<State>): Frame<State> | null {
    while (frame.tried < frame.candidates.length) {
      const index = frame.candidates[frame.tried] ?? -1;
      frame.tried += 1;
      const operation = this.#calls[index];
      const value = operation === undefined ? null : this.#model.step(frame.value, operation);
      if (value === null) continue;
      this.#do(index);
      const open = this.#openAnswered();
      const key = this.#key(value, open);
      if (!this.#seen.has(key)) {
        this.#seen.add(key);
        return this.#frame(value, index);
      }
      this.#undo(index);
    }
    return null;
  }

  #frame(value: State, taken: number): Frame<State> {
    const { open, earliest } = this.#openAnswered();
    const maybe = this.#unanswered.filter(
      (index) => this.#isDone[index] !== true && (this.#calls[index]?.calledAt ?? earliest) <= earliest,
    );
    // Answered calls first: an unanswered call is only needed where no other one explains a read.
    return { value, candidates: [...open, ...maybe], tried: 0, taken };
  }

  /**
   * Answered calls that may be next, the first answered first, with those that took effect; and the earliest open
   * answer.
   */
  #openAnswered(): { open: number[]; done: number[]; earliest: number } {
    const open: number[] = [];
    const done: number[] = [];
    let earliest = Number.POSITIVE_INFINITY;
    for (let at = this.#firstOpen; at < this.#answered.length; at += 1) {
      const index = this.#answered[at] ?? -1;
      const operation = this.#calls[index];
      if (operation === undefined || operation.calledAt > earliest) break;
      if (this.#isDone[index] === true) {
        done.push(index);
        continue;
      }
      open.push(index);
      earliest = Math.min(earliest, operation.answeredAt ?? earliest);
    }
    const answeredAt = (index: number): number => this.#calls[index]?.answeredAt ?? 0;
    return { open: open.sort((a, b) => answeredAt(a) - answeredAt(b)), done, earliest };
  }

  #key(value: State, { done }: { readonly done: readonly number[] }): string {
    const maybe = this.#unanswered.filter((index) => this.#isDone[index] === true);
    return `${this.#firstOpen}:${done.join(',')}:${maybe.join(',')}=${this.#model.key(value)}`;
  }

  #do(index: number): void {
    this.#isDone[index] = true;
    while (this.#isDone[this.#answered[this.#firstOpen] ?? -1] === true) this.#firstOpen += 1;
  }

  #undo(index: number): void {
    this.#isDone[index] = false;
    while (this.#firstOpen > 0 && (this.#answered[this.#firstOpen - 1] ?? -1) >= index) this.#firstOpen -= 1;
    while (this.#isDone[this.#answered[this.#firstOpen] ?? -1] === true) this.#firstOpen += 1;
  }

  #remember(path: readonly Frame<State>[], top: Frame<State>): void {
    if (path.length - 1 <= this.#longest.length) return;
    this.#longest = this.#at(path.slice(1).map(({ taken }) => taken));
    this.#next = this.#at(top.candidates);
  }
  #at(indexes: readonly number[]): Call[] {
    return indexes.flatMap((index) => {
      const call = this.#calls[index];
      return call === undefined ? [] : [call];
    });
  }
}
