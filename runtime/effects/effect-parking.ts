/**
 * Effects that wait without a place (`EffectContext.parked`): how many there may be, and the places in which they go on.
 * The queue has given theirs to others, so there are as many again as it has; no more go on at a time.
 */
export class EffectParking {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #free: number;
  #parked = 0;

  constructor(bounds: { readonly most: number; readonly places: number }) {
    this.#most = bounds.most;
    this.#free = bounds.places;
  }

  /** False: too many wait already. */
  enter(): boolean {
    if (this.#parked >= this.#most) return false;
    this.#parked += 1;
    return true;
  }

  /**
   * Ends the wait. True with a place to go on in, which `leave` gives back; first in, first out. False as soon as the
   * signal is aborted: what unwinds needs none.
   */
  async goOn(signal: AbortSignal): Promise<boolean> {
    this.#parked -= 1;
    if (signal.aborted) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const settle = (hasPlace: boolean): void => {
        this.#waiting.delete(resume);
        signal.removeEventListener('abort', giveUp);
        resolve(hasPlace);
      };
      const resume = (): void => settle(true);
      const giveUp = (): void => settle(false);
      this.#waiting.add(resume);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else next();
  }
}
