import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeNodeConfig } from './node-config.ts';
import { NodeProcess } from './node-process.ts';
import { EXAMPLE_ENV, EXAMPLE_SPEC } from './workflow-examples.ts';
import { ExampleClient } from './workflow-examples-run.ts';

/** A node in a process of its own, on the embedded store, on which the examples run. */
export class ExampleNode implements AsyncDisposable {
  readonly process: NodeProcess;
  readonly client: ExampleClient;
  readonly #directory: string;

  /**
   * `engineSocket`: of the container engine; without it the node has none. `sandbox: 'off'`: commands may write anywhere.
   */
  static async start(options: { readonly engineSocket?: string; readonly sandbox?: 'off' } = {}): Promise<ExampleNode> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-examples-'));
    const { engineSocket: container_socket_path, sandbox } = options;
    const host_commands = sandbox === undefined ? undefined : { sandbox };
    const runtime = { container_socket_path, host_commands };
    const spec = { observability: { logging: { level: 'warn' } }, ...EXAMPLE_SPEC, runtime };
    await writeNodeConfig(directory, spec);
    const node = new ExampleNode(directory);
    node.process.spawn();
    await node.process.url;
    return node;
  }

  constructor(directory: string) {
    this.#directory = directory;
    const args = ['--data', join(directory, 'data'), '--config', join(directory, 'svc.yaml')];
    this.process = new NodeProcess(args, EXAMPLE_ENV);
    this.client = new ExampleClient(() => this.process.url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
