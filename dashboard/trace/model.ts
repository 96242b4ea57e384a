import { type Batch, OUTCOMES } from './batch.ts';
import { bytesAt, type Column, float32, float64, Ids, int32, uint8 } from './columns.ts';
import { type Grouped, grouped } from './grouped.ts';

/** Data of messages, by the number of their ids: also of those whose deliveries have not been read. */
class Messages {
  readonly ids = new Ids();
  readonly first = int32();
  readonly last = int32();
  readonly cause = int32();
  readonly #firstChild = int32();
  readonly #nextChild = int32();

  numberOf(bytes: Uint8Array): number {
    const before = this.ids.length;
    const message = this.ids.add(bytes);
    if (message === before) {
      for (const column of [this.first, this.last, this.cause, this.#firstChild, this.#nextChild]) column.push(-1);
    }
    return message;
  }

  causedBy(message: number, cause: number): void {
    if (this.cause.at(message) !== -1 || cause === message) return;
    this.cause.set(message, cause);
    this.#nextChild.set(message, this.#firstChild.at(cause));
    this.#firstChild.set(cause, message);
  }

  /** Messages that its turn sent. */
  *children(message: number): Generator<number> {
    for (let child = this.#firstChild.at(message); child !== -1; child = this.#nextChild.at(child)) yield child;
  }
}

/** Effects by their numbers. Times are Unix ms, NaN where there is none. */
class Effects {
  readonly ids = new Ids();
  readonly message = int32();
  readonly kind = int32();
  readonly node = int32();
  readonly attempt = int32();
  readonly startedAt = float64();
  readonly endedAt = float64();
  readonly outcome = uint8();

  get count(): number {
    return this.ids.length;
  }
}

const NO_ORDER: Grouped = { starts: new Uint32Array(1), items: new Uint32Array(0) };

/**
 * A trace in columns: deliveries, messages and effects are numbers, so that 100,000 cost a few megabytes. It only grows: pages
 * are appended, and existing entries keep their numbers.
 */
export class TraceModel {
  /** Addresses, types, kinds of effects and nodes. */
  readonly names: string[] = [];
  readonly messages = new Messages();
  readonly effects = new Effects();

  readonly message = int32();
  readonly to = int32();
  readonly from = int32();
  readonly type = int32();
  readonly node = int32();
  readonly time = float64();
  readonly wait = float32();
  readonly turn = float32();
  readonly epoch = int32();
  readonly attempt = int32();
  readonly outcome = uint8();
  /** 1 where the delivery is the first under a new epoch of its actor. */
  readonly takeover = uint8();
  /** Previous delivery of the same message; -1 for the first attempt. */
  readonly #before = int32();

  /** Grows with each change. */
  version = 0;
  startedAt = Number.POSITIVE_INFINITY;
  endedAt = Number.NEGATIVE_INFINITY;
  #lanes = NO_ORDER;
  /** Time of the last read of a running trace: an open effect is drawn up to then. */
  #openUntil = Number.NEGATIVE_INFINITY;
  #lanesVersion = 0;
  #effectLanes = NO_ORDER;
  #longest: Column<Float64Array> = float64();

  get count(): number {
    return this.message.length;
  }

  /** Start and end of a delivery's turn. */
  turnAt(delivery: number): number {
    return this.time.at(delivery) + this.wait.at(delivery);
  }

  endOf(delivery: number): number {
    return this.time.at(delivery) + this.wait.at(delivery) + this.turn.at(delivery);
  }

  name(number: number): string | null {
    return this.names[number] ?? null;
  }

  outcomeOf(delivery: number): (typeof OUTCOMES)[number] {
    return OUTCOMES[this.outcome.at(delivery)] ?? 'unknown';
  }

  idOf(delivery: number): string {
    return this.messages.ids.text(this.message.at(delivery));
  }

  /** The last attempt of a message; -1 when none has been read. */
  find(messageId: string): number {
    const message = this.messages.ids.findText(messageId);
    return message === -1 ? -1 : this.messages.last.at(message);
  }

  /** The last attempt of the message whose turn sent this one; -1 for the root, and when it has not been read. */
  causeOf(delivery: number): number {
    const cause = this.messages.cause.at(this.message.at(delivery));
    return cause === -1 ? -1 : this.messages.last.at(cause);
  }

  /** Last attempts of the messages that a delivery's turn sent, by time. */
  effectsOf(delivery: number): number[] {
    const found: number[] = [];
    for (const child of this.messages.children(this.message.at(delivery))) {
      const last = this.messages.last.at(child);
      if (last !== -1) found.push(last);
    }
    return found.sort((a, b) => this.time.at(a) - this.time.at(b) || a - b);
  }

  /** Adds new entries. Returns the number of new deliveries. */
  append({ deliveries, effects, names }: Batch): number {
    for (const name of names) this.names.push(name);
    const before = this.count;
    for (let row = 0; row < deliveries.at.length; row += 1) this.#appendDelivery(deliveries, row);
    let changed = this.count > before;
    for (let row = 0; row < effects.outcome.length; row += 1) changed = this.#putEffect(effects, row) || changed;
    if (changed) this.version += 1;
    return this.count - before;
  }

  #appendDelivery(rows: Batch['deliveries'], row: number): void {
    const value = (column: ArrayLike<number>): number => column[row] ?? 0;
    const message = this.messages.numberOf(bytesAt(rows.ids, row));
    const [time, attempt, epoch] = [value(rows.at), value(rows.attempt), value(rows.epoch)];
    const last = this.messages.last.at(message);
    for (let one = last; one !== -1; one = this.#before.at(one)) {
      if (this.time.at(one) === time && this.attempt.at(one) === attempt && this.epoch.at(one) === epoch) return;
    }
    const delivery = this.count;
    if (last === -1) this.messages.first.set(message, delivery);
    this.messages.last.set(message, delivery);
    const cause = bytesAt(rows.causes, row);
    if (cause.length > 0) this.messages.causedBy(message, this.messages.numberOf(cause));
    this.message.push(message);
    this.to.push(value(rows.to));
    this.from.push(value(rows.from));
    this.type.push(value(rows.type));
    this.node.push(value(rows.node));
    this.time.push(time);
    this.wait.push(value(rows.wait));
    this.turn.push(value(rows.turn));
    this.epoch.push(epoch);
    this.attempt.push(attempt);
    this.outcome.push(value(rows.outcome));
    this.takeover.push(0);
    this.#before.push(last);
    this.startedAt = Math.min(this.startedAt, time);
    this.endedAt = Math.max(this.endedAt, this.endOf(delivery));
  }

  /** Adds or updates an effect. Returns whether something changed. */
  #putEffect(rows: Batch['effects'], row: number): boolean {
    const { effects } = this;
    const message = bytesAt(rows.messages, row);
    const values = [
      [effects.message, message.length === 0 ? -1 : this.messages.numberOf(message)],
      [effects.kind, rows.kind[row] ?? -1],
      [effects.node, rows.node[row] ?? -1],
      [effects.attempt, rows.attempt[row] ?? 0],
      [effects.startedAt, rows.startedAt[row] ?? Number.NaN],
      [effects.endedAt, rows.endedAt[row] ?? Number.NaN],
      [effects.outcome, rows.outcome[row] ?? 0],
    ] as const;
    const before = effects.count;
    const effect = effects.ids.add(bytesAt(rows.ids, row));
    const startedAt = rows.startedAt[row] ?? Number.NaN;
    const endedAt = rows.endedAt[row] ?? Number.NaN;
    if (startedAt < this.startedAt) this.startedAt = startedAt;
    if (endedAt > this.endedAt) this.endedAt = endedAt;
    if (effect === before) {
      for (const [column, value] of values) column.push(value);
      return true;
    }
    const differs = values.some(([column, value]) => !Object.is(column.at(effect), value));
    for (const [column, value] of values) column.set(effect, value);
    return differs;
  }

  /** Deliveries by actor (number of its address), each by time. */
  get lanes(): Grouped {
    this.#order();
    return this.#lanes;
  }

  /** Effects by the actor that requested them, each by start. */
  get effectLanes(): Grouped {
    this.#order();
    return this.#effectLanes;
  }

  /** The longest delivery of an actor, ms: the earliest start of one that is still visible at a given time. */
  longestOf(lane: number): number {
    this.#order();
    return this.#longest.at(lane);
  }

  /** Start of an effect: without a time of its own, the end of the turn that requested it. */
  effectStart(effect: number): number {
    const start = this.effects.startedAt.at(effect);
    if (!Number.isNaN(start)) return start;
    const message = this.effects.message.at(effect);
    const delivery = message === -1 ? -1 : this.messages.last.at(message);
    return delivery === -1 ? this.startedAt : this.endOf(delivery);
  }

  /** End of an effect; for an open one, the end of the known time. */
  effectEnd(effect: number): number {
    const end = this.effects.endedAt.at(effect);
    return Number.isNaN(end) ? Math.max(this.lastMoment, this.effectStart(effect)) : end;
  }

  /** End of the known time: the last delivery or effect, or the last read while an effect is open. */
  get lastMoment(): number {
    return Math.max(this.endedAt, this.#openUntil);
  }

  /** Notes when the trace was read to its end; null once it has ended. */
  readAt(time: number | null): void {
    const { endedAt, count } = this.effects;
    let isOpen = false;
    for (let effect = 0; effect < count && !isOpen; effect += 1) isOpen = Number.isNaN(endedAt.at(effect));
    this.#openUntil = isOpen && time !== null ? time : Number.NEGATIVE_INFINITY;
  }

  /** The actor whose turn requested an effect; -1 when it has not been read. */
  effectLane(effect: number): number {
    const message = this.effects.message.at(effect);
    const delivery = message === -1 ? -1 : this.messages.last.at(message);
    return delivery === -1 ? -1 : this.to.at(delivery);
  }

  #order(): void {
    if (this.#lanesVersion === this.version) return;
    this.#lanesVersion = this.version;
    const lanes = this.names.length;
    this.#lanes = grouped(
      this.count,
      lanes,
      (one) => this.to.at(one),
      (one) => this.time.at(one),
    );
    this.#effectLanes = grouped(
      this.effects.count,
      lanes,
      (one) => this.effectLane(one),
      (one) => this.effectStart(one),
    );
    this.#longest = float64();
    const { starts, items } = this.#lanes;
    for (let lane = 0; lane < lanes; lane += 1) {
      let longest = 0;
      let epoch = -1;
      for (let at = starts[lane] ?? 0; at < (starts[lane + 1] ?? 0); at += 1) {
        const delivery = items[at] ?? 0;
        longest = Math.max(longest, this.wait.at(delivery) + this.turn.at(delivery));
        this.takeover.set(delivery, epoch !== -1 && this.epoch.at(delivery) > epoch ? 1 : 0);
        epoch = Math.max(epoch, this.epoch.at(delivery));
      }
      this.#longest.push(longest);
    }
  }
}
