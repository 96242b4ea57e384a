/**
 * `AsyncDisposableStack` for Node.js 22, which has the symbols of disposal but not the stack. The package imports it in
 * front of each module that uses the stack (cli/package.ts); a clone runs Node.js 24 and never loads it.
 */
type Dispose = () => unknown;

class AsyncStack {
  #open: Dispose[] = [];
  #isDisposed = false;

  get disposed(): boolean {
    return this.#isDisposed;
  }

  get [Symbol.toStringTag](): string {
    return 'AsyncDisposableStack';
  }

  use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value === null || value === undefined) return value;
    this.#push(Symbol.asyncDispose in value ? () => value[Symbol.asyncDispose]() : syncOf(value));
    return value;
  }

  adopt<T>(value: T, dispose: (value: T) => unknown): T {
    this.#push(() => dispose(value));
    return value;
  }

  defer(dispose: Dispose): void {
    this.#push(dispose);
  }

  move(): AsyncStack {
    this.#check();
    const moved = new AsyncStack();
    moved.#open = this.#open;
    this.#open = [];
    this.#isDisposed = true;
    return moved;
  }

  disposeAsync(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  /** Disposes in reverse order. A disposal that throws does not stop the others, and the last error holds the earlier ones. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    let failed: { readonly error: unknown } | null = null;
    for (const dispose of this.#open.toReversed()) {
      try {
        await dispose();
      } catch (error) {
        failed = { error: failed === null ? error : suppressed(error, failed.error) };
      }
    }
    this.#open = [];
    if (failed !== null) throw failed.error;
  }

  #push(dispose: Dispose): void {
    this.#check();
    this.#open.push(dispose);
  }

  #check(): void {
    if (this.#isDisposed) throw new ReferenceError('the stack has been disposed');
  }
}

function syncOf(value: Disposable): Dispose {
  const dispose = value[Symbol.dispose];
  if (typeof dispose !== 'function') throw new TypeError('the value cannot be disposed');
  return () => Reflect.apply(dispose, value, []);
}

/** `SuppressedError`, which Node.js 22 does not have. */
const suppressed = (error: unknown, before: unknown): Error =>
  Object.assign(new Error('an error was suppressed during disposal', { cause: error }), { error, suppressed: before });

if (!('AsyncDisposableStack' in globalThis))
  Object.defineProperty(globalThis, 'AsyncDisposableStack', { value: AsyncStack, writable: true, configurable: true });
