import type { RoleProcess } from '../role.ts';

type Worker = RoleProcess<object, unknown>;

/** Worker processes of a peer: each can be killed, and a new one takes its place. */
export class Workers {
  readonly #start: () => Promise<Worker>;
  readonly #running: Worker[] = [];

  private constructor(start: () => Promise<Worker>) {
    this.#start = start;
  }

  static async start(count: number, start: () => Promise<Worker>): Promise<Workers> {
    const workers = new Workers(start);
    for (let index = 0; index < count; index += 1) workers.#running.push(await start());
    return workers;
  }

  async replace(index: number): Promise<void> {
    await this.#running[index]?.kill();
    this.#running[index] = await this.#start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((worker) => worker.kill()));
  }
}
