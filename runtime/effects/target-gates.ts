import type { Clock } from '../clock.ts';
import type { EffectContext } from '../effect.ts';
import { within } from '../kit/waits.ts';
import { type Flow, flowOf } from './effect-envelope.ts';
import { FairLine, FairSlots } from './fair-slots.ts';

export interface TargetGatesOptions {
  readonly clock: Clock;
  /** Most calls of one target at a time. */
  readonly most: number;
  /** Called when a target stops answered, and when it answers again; for the log. */
  readonly onChange?: (target: string, state: 'open' | 'closed', failures: number) => void;
}

/**
 * What a call says about its target. `failed`: it did not answer in time. `alive`: it gave some answer. `unknown`:
 * nothing is known.
 */
export type TargetHealth = 'alive' | 'failed' | 'unknown';

interface TargetCall<T> {
  /** Makes the call. Call `onAnswer` when the target has begun to answer. */
  call(onAnswer: () => void): Promise<T>;
  /**
   * What a call that threw after `tookMs` says about its target. `answered` is true when the target had begun to answer.
   */
  healthOf(thrown: unknown, tookMs: number, answered: boolean): TargetHealth;
}

type Caller = Pick<EffectContext, 'effectId' | 'address' | 'fairnessKey' | 'signal' | 'parked'>;

/** A call that waits for a turn. */
interface Waiting {
  readonly flow: Flow;
  admit(isProbe: boolean): void;
}

interface Gate {
  running: number;
  readonly slots: FairSlots;
  /** Failed calls in a row. */
  failures: number;
  open: boolean;
  probing: boolean;
  probeAfterMs: number;
  cancelTimer: () => void;
  readonly waiting: FairLine<Waiting>;
}

const SILENT_AFTER_MS = 2_000;
const FAILURES_TO_OPEN = 5;
const FIRST_PROBE_AFTER_MS = 1_000;
const LONGEST_PROBE_AFTER_MS = 5_000;
/** Most targets without a call whose failures are kept. An agent may try any number of web hosts that never answer. */
const MOST_IDLE = 1_000;

/**
 * Keeps one external target (a model, an MCP server, a web host) from occupying all slots of a node's effects:
 * - a call without an answer for a while continues without a slot (`EffectContext.parked`);
 * - a target has a limited number of calls at a time, shared by tenants and their agents (`FairSlots`); the others
 *   wait without a slot, in turn;
 * - after several calls in a row without an answer in time the breaker opens: calls wait without a slot while one at a
 *   time probes the target, with growing pauses; the first answer lets all continue.
 *
 * An open breaker fails no call: waiting calls end by their own time-outs. The state is in memory, so each node learns
 * for itself.
 */
export class TargetGates {
  readonly #options: TargetGatesOptions;
  /** In the order of their last use. */
  readonly #gates = new Map<string, Gate>();
  /** The target that each effect waits for. */
  readonly #waits = new Map<string, string>();

  constructor(options: TargetGatesOptions) {
    this.#options = options;
  }

  /** Whether the breaker of this target is open. */
  isOpen(target: string): boolean {
    return this.#gates.get(target)?.open === true;
  }

  /** The target that an effect of this node waits for; undefined when it waits for none. */
  waitOf(effectId: string): string | undefined {
    const target = this.#waits.get(effectId);
    if (target === undefined) return undefined;
    return this.isOpen(target)
      ? `${target} does not answer; it is probed, and the call continues when it answers`
      : `${target} already has the maximum of calls from this node; this one waits for its turn`;
  }

  /** Makes a call as soon as the target allows it. Throws the error of the call, or the signal's reason. */
  async through<T>(target: string, context: Caller, { call, healthOf }: TargetCall<T>): Promise<T> {
    const { clock } = this.#options;
    const gate = this.#gate(target);
    const flow = flowOf(context);
    const isProbe = await this.#enter(target, gate, flow, context);
    const startedAt = clock.monotonic();
    const first = Promise.withResolvers<void>();
    let answered = false;
    const work = call(() => {
      answered = true;
      first.resolve();
    });
    const goesOn = this.#unlessSilent(context, Promise.race([first.promise, work]));
    // It is awaited at the end. Until then this listener handles a rejection (the effect was stopped while it waited
    // for a slot).
    goesOn.catch(() => {});
    try {
      const value = await work;
      this.#leave(target, gate, { flow, isProbe, health: 'alive' });
      return value;
    } catch (thrown) {
      const health = healthOf(thrown, clock.monotonic() - startedAt, answered);
      this.#leave(target, gate, { flow, isProbe, health });
      throw thrown;
    } finally {
      await goesOn;
    }
  }

  /** Keeps the slot for a while and then waits without one. Resolves with a slot in which to continue. */
  async #unlessSilent(context: Pick<EffectContext, 'parked'>, answer: Promise<unknown>): Promise<void> {
    const over = answer.then(
      () => {},
      () => {},
    );
    let isOver = false;
    const ended = over.then(() => {
      isOver = true;
    });
    await within(this.#options.clock, SILENT_AFTER_MS, ended);
    if (!isOver) await context.parked(over);
  }

  #gate(target: string): Gate {
    let gate = this.#gates.get(target);
    if (gate === undefined) {
      const { most, clock } = this.#options;
      gate = {
        running: 0,
        failures: 0,
        open: false,
        probing: false,
        probeAfterMs: FIRST_PROBE_AFTER_MS,
        cancelTimer: () => {},
        waiting: new FairLine<Waiting>(),
        slots: new FairSlots(most, () => clock.monotonic()),
      };
      this.#forgetOldest();
    }
    this.#gates.delete(target);
    this.#gates.set(target, gate);
    return gate;
  }

  /** Deletes the gate of the target that has no call for the longest time, when there are too many. */
  #forgetOldest(): void {
    if (this.#gates.size < MOST_IDLE) return;
    for (const [target, gate] of this.#gates) {
      if (gate.running + gate.waiting.size > 0) continue;
      gate.cancelTimer();
      this.#gates.delete(target);
      return;
    }
  }

  /** Waits for a turn. True: the call is the probe of an open breaker. */
  async #enter(target: string, gate: Gate, flow: Flow, { effectId, signal, parked }: Caller): Promise<boolean> {
    if (!gate.open && !gate.waiting.has(flow) && gate.slots.mayTake(flow)) {
      take(gate, flow);
      return false;
    }
    signal.throwIfAborted();
    const turn = Promise.withResolvers<boolean>();
    const admitted: { as: 'call' | 'probe' | null } = { as: null };
    const waiting: Waiting = {
      flow,
      admit(isProbe) {
        admitted.as = isProbe ? 'probe' : 'call';
        turn.resolve(isProbe);
      },
    };
    const giveUp = (): void => turn.reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    gate.waiting.add(flow, waiting);
    this.#waits.set(effectId, target);
    if (gate.open && !gate.probing) this.#probeLater(gate);
    try {
      return await parked(turn.promise);
    } catch (thrown) {
      gate.waiting.delete(flow, waiting);
      // The call was admitted at the moment of the abort: its turn goes to the next.
      if (admitted.as !== null)
        this.#leave(target, gate, { flow, isProbe: admitted.as === 'probe', health: 'unknown' });
      this.#forget(target, gate);
      throw thrown;
    } finally {
      this.#waits.delete(effectId);
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Admits the next waiting call. False: none that waits may be made. */
  #admit(gate: Gate, isProbe: boolean): boolean {
    const next = gate.waiting.take(({ flow }) => isProbe || gate.slots.mayTake(flow));
    if (next === undefined) return false;
    take(gate, next.flow);
    next.admit(isProbe);
    return true;
  }

  #probeLater(gate: Gate): void {
    gate.cancelTimer();
    // A single caller is its own probe: a pause would gain nothing.
    const pauseMs = gate.waiting.size === 1 ? 0 : gate.probeAfterMs;
    gate.cancelTimer = this.#options.clock.after(pauseMs, () => {
      if (!gate.open || gate.probing || gate.waiting.size === 0) return;
      gate.probing = true;
      this.#admit(gate, true);
    });
  }

  #leave(
    target: string,
    gate: Gate,
    { flow, isProbe, health }: { readonly flow: Flow; readonly isProbe: boolean; readonly health: TargetHealth },
  ): void {
    const { onChange } = this.#options;
    gate.running -= 1;
    gate.slots.giveBack(flow);
    if (isProbe) gate.probing = false;
    if (health === 'failed') {
      gate.failures += 1;
      if (gate.open && isProbe) gate.probeAfterMs = Math.min(LONGEST_PROBE_AFTER_MS, 2 * gate.probeAfterMs);
      if (!gate.open && gate.failures >= FAILURES_TO_OPEN) {
        gate.open = true;
        onChange?.(target, 'open', gate.failures);
      }
    }
    if (health === 'alive') {
      gate.failures = 0;
      gate.probeAfterMs = FIRST_PROBE_AFTER_MS;
      gate.cancelTimer();
      if (gate.open) onChange?.(target, 'closed', 0);
      gate.open = false;
    }
    if (gate.open && !gate.probing) this.#probeLater(gate);
    while (!gate.open && gate.waiting.size > 0 && this.#admit(gate, false));
    this.#forget(target, gate);
  }

  /** Deletes the gate of a target without state to keep, because web hosts come and go. */
  #forget(target: string, gate: Gate): void {
    if (gate.running + gate.waiting.size + gate.failures > 0 || gate.open) return;
    if (this.#gates.get(target) === gate) this.#gates.delete(target);
  }
}

function take(gate: Gate, flow: Flow): void {
  gate.running += 1;
  gate.slots.take(flow);
}
