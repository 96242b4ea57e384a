import { join } from 'node:path';
import { ChildProgram } from './child-program.ts';
import { waitUntil } from './wait-until.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'main.ts');
const FREE_PORTS = ['--http-port', '0', '--grpc-port', '0'];

/** A node as a person starts it: `node main.ts …` in a process of its own, on free loopback ports. */
export class NodeProcess extends ChildProgram<string> {
  /**
   * `args`: besides the ports, such as `--data DIR`. `stderr`: a descriptor that the log goes to instead of `log`. `main`:
   * entry point of another version of the product. `user`: who runs the process.
   */
  constructor(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    stderr: number | 'pipe' = 'pipe',
    main: string = MAIN,
    user?: { readonly uid: number; readonly gid: number },
  ) {
    super({
      name: 'the node',
      args: [main, ...FREE_PORTS, ...args],
      env,
      stderr,
      user,
      readyIn: (line) => /^REST\s+(\S+)/.exec(line)?.[1] ?? null,
      startTimeoutMs: 120_000,
    });
  }

  /** Base URL of REST once the node listens. Rejects when the process ends before. */
  get url(): Promise<string> {
    return this.ready;
  }

  /** `host:port` of SvcRuntime once the node has printed it. */
  get grpcAddress(): Promise<string> {
    return this.#said('the address of gRPC', () => /^SvcRuntime\s+(\S+)$/m.exec(this.announced)?.[1]);
  }

  /** Base URL and gRPC `host:port` of the internal listener, for the programs of agents. */
  get internal(): Promise<{ readonly url: string; readonly grpcAddress: string }> {
    return this.#said('its internal address', () => {
      const [, url, grpcAddress] = /^internal\s+(\S+)\s+(\S+)/m.exec(this.announced) ?? [];
      return url === undefined || grpcAddress === undefined ? null : { url, grpcAddress };
    });
  }

  /** `host:port` of NodeClusterService, of a node that has it. */
  get clusterAddress(): Promise<string> {
    return this.#said('the address of NodeClusterService', () => /^NodeCluster\s+(\S+)$/m.exec(this.announced)?.[1]);
  }

  async #said<T>(what: string, look: () => T | null | undefined): Promise<T> {
    await this.ready;
    return waitUntil(`the node prints ${what}`, look);
  }
}
