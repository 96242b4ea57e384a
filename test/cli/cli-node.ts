import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { NodeProcess } from '../support/node-process.ts';
import { type SvcResult, svc } from './svc-run.ts';

/** Answers for inputs with a word: `slow` takes about 3 s in forty pieces, `lasting` 10 s, `endless` longer than any test. */
const SCRIPT = `rules:
  - match: { contains: hopeless }
    reply: no
  - match: { contains: refined, iteration: 1 }
    reply: no
  - match: { contains: slow }
    reply: { text: "OK ${Array.from({ length: 40 }, (_piece, n) => `piece${n}`).join(' ')}", chunks: 40, delay_ms: 75 }
  - match: { contains: lasting }
    reply: { text: OK at last, chunks: 2, delay_ms: 5000 }
  - match: { contains: endless }
    reply: { text: OK at last, delay_ms: 250000 }
  - match: { contains: notes, round: 1 }
    reply:
      tool_calls:
        - { name: fs.read, arguments: { path: missing.txt } }
        - { name: fs.read, arguments: { path: /etc/passwd } }
        - { name: fs.list, arguments: {} }
  - reply: OK done
`;

const AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: echo, version: "1.0.0", description: answers from a script }
spec:
  task: { prompt_template: "{{input}} {{extra}}" }
  execution:
    max_iterations: 2
    validation: [{ type: regex, pattern: "^OK" }]
`;

/** A node with a scripted model and the agent `echo` deployed; the directory holds its manifest `echo.yaml`. */
export class CliNode {
  readonly directory: string;
  #node: NodeProcess;
  url = '';

  private constructor(directory: string, port: number) {
    this.directory = directory;
    this.#node = this.#process(port);
  }

  /** `settings`: further lines of the node's `spec`, indented by two. */
  static async open(settings = ''): Promise<CliNode> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-cli-'));
    const script = join(directory, 'script.yaml');
    const provider = `{ name: script, type: scripted, script: ${script}, models: [{ alias: default, model: script }] }`;
    const config = `apiVersion: svc.dev/v1\nkind: NodeConfig\nspec:\n  llm_providers: [${provider}]\n${settings}`;
    await writeFile(script, SCRIPT);
    await writeFile(join(directory, 'svc.yaml'), config);
    await writeFile(join(directory, 'echo.yaml'), AGENT);
    const setup = new CliNode(directory, await freePort());
    setup.#node.spawn();
    try {
      setup.url = await setup.#node.url;
    } catch (error) {
      // A node that starts after its timeout must not outlive its suite.
      await setup.kill();
      throw error;
    }
    const deployed = await setup.svc(['agent', 'deploy', setup.file('echo.yaml')]);
    if (deployed.code !== 0) throw new Error(`the agent was not deployed: ${deployed.stderr}`);
    return setup;
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  get node(): NodeProcess {
    return this.#node;
  }

  get env(): NodeJS.ProcessEnv {
    return { SVC_URL: this.url };
  }

  svc(args: readonly string[], input = ''): Promise<SvcResult> {
    return svc(args, this.env, input);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.#node.kill();
  }

  /** The same data and the same port. */
  async startAgain(): Promise<void> {
    this.#node = this.#process(Number(new URL(this.url).port));
    this.#node.spawn();
    await this.#node.url;
  }

  async close(): Promise<void> {
    await this.#node.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  #process(port: number): NodeProcess {
    const places = ['--data', this.file('data'), '--config', this.file('svc.yaml')];
    return new NodeProcess([...places, '--http-port', String(port), '--internal-port', '0']);
  }
}
