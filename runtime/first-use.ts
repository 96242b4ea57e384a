/**
 * A value that is made when it is first asked for: what a node does not use it does not carry. All who ask share one
 * making. When it fails each of them gets its error, and the next to ask has it tried again.
 */
export class FirstUse<Value> {
  readonly #make: () => Promise<Value>;
  #making: Promise<Value> | null = null;

  constructor(make: () => Promise<Value>) {
    this.#make = make;
  }

  get(): Promise<Value> {
    this.#making ??= this.#begin().catch((error: unknown) => {
      this.#making = null;
      throw error;
    });
    return this.#making;
  }

  /** What was made, for whoever closes it: waits for a making under way, and begins none. Null when there is nothing. */
  async made(): Promise<Value | null> {
    try {
      return await this.#making;
    } catch {
      // Whoever asked for it was told.
      return null;
    }
  }

  /** A maker that throws at once fails like any other. */
  async #begin(): Promise<Value> {
    return this.#make();
  }
}
