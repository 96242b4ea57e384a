import { join } from 'node:path';
import { ChildProgram } from './child-program.ts';
import { waitUntil } from './wait-until.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'main.ts');
const FREE_PORTS = ['--http-port', '0', '--grpc-port', '0'];

/** A node as a person starts it: `node main.ts …` in a process of its own, on free loopback ports. */
export class NodeProcess extends ChildProgram<string> {
  /**
   * `args` beside the ports, such as `--data DIR`. A descriptor as `stderr` is where the log goes instead of `log`; `main`
   * is that of another version of the product; `user` is whom it runs as.
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

  /** Base URL of REST once the node of this moment listens. Rejects when it ends before. */
  get url(): Promise<string> {
    return this.ready;
  }

  /** `host:port` of SvcRuntime once the node of this moment says it. */
  get grpcAddress(): Promise<string> {
    return this.#said('where gRPC is', () => /^SvcRuntime\s+(\S+)$/m.exec(this.announced)?.[1]);
  }

  /** Base URL and gRPC `host:port` of the internal address, for agents' programs. */
  get internal(): Promise<{ readonly url: string; readonly grpcAddress: string }> {
    return this.#said('where its internal address is', () => {
      const [, url, grpcAddress] = /^internal\s+(\S+)\s+(\S+)/m.exec(this.announced) ?? [];
      return url === undefined || grpcAddress === undefined ? null : { url, grpcAddress };
    });
  }

  /** `host:port` of NodeClusterService, of a node that has it. */
  get clusterAddress(): Promise<string> {
    return this.#said('where NodeClusterService is', () => /^NodeCluster\s+(\S+)$/m.exec(this.announced)?.[1]);
  }

  async #said<T>(what: string, look: () => T | null | undefined): Promise<T> {
    await this.ready;
    return waitUntil(`the node says ${what}`, look);
  }
}
