/** Lets the work for one tenant run one after another, in this process. */
export class TurnsOfTenants {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(tenant) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(tenant, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(tenant) === mine) this.#last.delete(tenant);
    }
  }
}
