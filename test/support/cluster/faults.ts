import { setTimeout as pause } from 'node:timers/promises';
import type { Direction } from '../link.ts';
import type { Cluster } from './cluster.ts';
import type { Fault } from './nemesis.ts';

const STARTS = 20;
const START_AGAIN_MS = 100;

/** Faults of one cluster for a `Nemesis`. A node is struck by one fault at a time. */
export class Faults {
  readonly #cluster: Cluster;
  readonly #struck = new Set<number>();
  /** Starts that failed because a store was down, and were repeated as a supervisor repeats them. */
  startsRepeated = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** kill -9, and a start `downMs` later. */
  killNode(everyMs: number, downMs: number): Fault {
    return this.#onNode('kill', everyMs, async (index) => {
      await this.#cluster.kill(index);
      await pause(downMs);
      await this.#supervise(() => this.#cluster.start(index));
      return `down ${downMs} ms`;
    });
  }

  freezeNode(everyMs: number, forMs: number): Fault {
    return this.#onNode('freeze', everyMs, async (index) => {
      this.#cluster.freeze(index);
      await pause(forMs);
      this.#cluster.thaw(index);
      return `${forMs} ms`;
    });
  }

  cutNode(everyMs: number, forMs: number): Fault {
    return this.#onNode('cut', everyMs, async (index, random) => {
      const ways: readonly Direction[] = ['to-store', 'from-store', 'both'];
      const way = ways[Math.floor(random() * ways.length)] ?? 'both';
      this.#cluster.cut(index, way);
      await pause(forMs);
      this.#cluster.heal(index);
      return `${way} ${forMs} ms`;
    });
  }

  killAdapter(everyMs: number): Fault {
    return {
      name: 'kill adapter',
      everyMs,
      strike: async () => {
        await this.#cluster.adapter(0).kill();
        await this.#supervise(() => this.#cluster.startAdapter(0));
        return this.#cluster.adapter(0).name;
      },
    };
  }

  restartStore(everyMs: number): Fault {
    return {
      name: 'restart Redis',
      everyMs,
      strike: async () => {
        await this.#cluster.restartStore();
        return 'kill -9 and start';
      },
    };
  }

  /** A process that cannot reach its stores ends with an error, and its supervisor starts it again. */
  async #supervise(start: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await start();
      } catch (error) {
        if (tries === STARTS || !String(error).includes("code: 'unavailable'")) throw error;
        this.startsRepeated += 1;
        await pause(START_AGAIN_MS);
      }
    }
  }

  /** A random node that has no fault now; undefined when there is none. */
  #onNode(name: string, everyMs: number, strike: (index: number, random: () => number) => Promise<string>): Fault {
    return {
      name,
      everyMs,
      strike: async (random) => {
        const { names } = this.#cluster;
        const free = names.map((_, index) => index).filter((one) => !this.#struck.has(one));
        const index = free.filter((one) => this.#cluster.node(one).isRunning)[Math.floor(random() * free.length)];
        if (index === undefined) return 'no node';
        this.#struck.add(index);
        try {
          return `${names[index]} ${await strike(index, random)}`;
        } finally {
          this.#struck.delete(index);
        }
      },
    };
  }
}
