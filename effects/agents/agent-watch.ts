import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ContainerOwner } from '../containers/labels.ts';
import type { EngineParts } from '../containers/settings.ts';
import { type ContainerState, killContainer } from '../containers/state.ts';
import { CapturedOutput } from '../programs/captured-output.ts';
import { ProgressFlow } from '../programs/progress-flow.ts';
import type { GatewayHandler } from './bootstrap/api.ts';
import { startMailbox } from './mailbox.ts';

/** Names the box that a container was made with: who adopts it serves that one. */
export const BOX_LABEL = 'dev.svc.box';

export interface AgentWatchParts {
  readonly engine: EngineParts;
  readonly owner: ContainerOwner;
  readonly context: EffectContext;
  readonly handle: GatewayHandler;
  readonly secrets: readonly string[];
  /** Bytes of standard output that are told while it comes; 0: none. */
  readonly streamBytes: number;
}

/** What a node does beside a running agent: serves its mailbox, tells who it is and what it prints. */
export class AgentWatch {
  readonly #parts: AgentWatchParts;
  readonly #unwanted = new AbortController();
  readonly #over = new AbortController();
  readonly #flow: ProgressFlow;
  readonly #stdout: CapturedOutput;
  #relay: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  /** Of the container that was made or found. */
  box: string | null = null;

  constructor(parts: AgentWatchParts) {
    this.#parts = parts;
    this.#flow = new ProgressFlow(
      (text) => parts.context.progress({ text }),
      () => this.#giveUp(),
    );
    this.#stdout = new CapturedOutput(parts.streamBytes, parts.secrets, (text) => this.#flow.push(text));
  }

  /** Aborted when the actor says that nobody waits any more. */
  get unwanted(): AbortSignal {
    return this.#unwanted.signal;
  }

  get onStdout(): ((chunk: Buffer) => void) | null {
    return this.#parts.streamBytes === 0 ? null : (chunk) => this.#stdout.push(chunk);
  }

  /** Durable before the container begins: an agent that attests at once is known by its container. */
  async onContainer(state: ContainerState): Promise<void> {
    this.box = state.labels[BOX_LABEL] ?? null;
    if (!(await this.#parts.context.progress({ container_id: state.id }))) this.#giveUp();
    this.#unwanted.signal.throwIfAborted();
    if (this.box === null || state.phase === 'ended') return;
    this.#relay = this.#serve(state.id, this.box);
  }

  async #serve(id: string, directory: string): Promise<void> {
    const { engine, handle, context } = this.#parts;
    const signal = AbortSignal.any([this.#over.signal, this.#unwanted.signal, context.signal]);
    try {
      await startMailbox({ directory, handle, signal, clock: engine.clock });
    } catch (error) {
      if (signal.aborted) return;
      // An agent that nobody answers would wait for its whole time.
      this.#failure = error;
      await killContainer(engine.engine, id, signal).catch((left: unknown) => {
        if (!signal.aborted) engine.warn(`container ${id} could not be killed`, left);
      });
    }
  }

  /** Resolves when all that was printed is told. Throws what ended the mailbox. */
  async finish(): Promise<void> {
    if (this.#parts.streamBytes > 0) this.#stdout.end();
    await this.#flow.finish();
    this.#unwanted.signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure;
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#relay;
  }

  #giveUp(): void {
    this.#unwanted.abort(new SvcError('cancelled', 'nobody waits for this agent any more'));
  }
}
