import type { McpLimits } from './limits.ts';

/** Counts the messages of one server in windows of time, so that one that never stops cannot keep the node busy. */
export class FloodGauge {
  readonly #limits: McpLimits;
  readonly #now: () => number;
  #windowStart: number;
  #count = 0;

  constructor(limits: McpLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#windowStart = now();
  }

  /** True: more came than a server may send. */
  count(): boolean {
    const now = this.#now();
    if (now - this.#windowStart >= this.#limits.messagesEveryMs) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count > this.#limits.messages;
  }
}
