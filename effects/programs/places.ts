interface Line {
  held: number;
  readonly waiting: (() => void)[];
}

/** So many at a time for each key; the others wait, first come first served. In this process only. */
export class Places {
  readonly #lines = new Map<string, Line>();

  /** Resolves with what gives the place back. Throws the signal's reason when that comes first. */
  async take(key: string, most: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const line = this.#lines.get(key) ?? { held: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.held < most) line.held += 1;
    else await handedOver(line, signal);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#giveBack(key, line);
    };
  }

  /** A place goes to the next in line without becoming free in between. */
  #giveBack(key: string, line: Line): void {
    const next = line.waiting.shift();
    if (next !== undefined) next();
    else {
      line.held -= 1;
      if (line.held === 0) this.#lines.delete(key);
    }
  }
}

function handedOver(line: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const mine = (): void => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = (): void => {
      line.waiting.splice(line.waiting.indexOf(mine), 1);
      reject(signal.reason);
    };
    line.waiting.push(mine);
    signal.addEventListener('abort', leave, { once: true });
  });
}
