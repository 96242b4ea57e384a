import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { untilAborted } from '../../runtime/kit/waits.ts';
import { answerGateway } from '../../usecases/gateway.ts';
import { unfailed } from '../../usecases/ports/commands.ts';
import { requireEngine, runOwned } from '../containers/container-effect.ts';
import { runContainer } from '../containers/container-run.ts';
import type { ContainerResult } from '../containers/input.ts';
import { CapturedStream } from '../containers/output.ts';
import type { ContainerOwner, EngineParts } from '../containers/settings.ts';
import { type ContainerState, killContainer } from '../containers/state.ts';
import { CapturedOutput, ProgressFlow, Redactor } from '../programs/captured-output.ts';
import { EXCHANGE_LABEL, exchangeOf, removeExchange } from './exchange-directory.ts';
import { startExchange } from './file-exchange.ts';
import { AgentContainerInput, type AgentContainerResult } from './input.ts';
import { type AgentContainerParts, planContainer } from './plan-container.ts';

/**
 * `agent.container` (repeatable): one iteration of an agent of isolation `docker` (W26), in a container hardened like that
 * of `container.run`. While it runs, the gateway answers the requests in its exchange. An attempt that finds the container
 * of an earlier one adopts it. Progress `{container_id}` before the bootstrap begins and after an adoption, `{text}` if the
 * input asks for it. Throws `unsupported_isolation` without an engine, `unsupported_runtime`, and what `container.run`
 * throws.
 */
export function createAgentContainerEffect(parts: AgentContainerParts): EffectHandler<typeof AgentContainerInput> {
  return defineEffect({
    kind: 'agent.container',
    input: AgentContainerInput,
    run: (input, context) => run(parts, input, context),
  });
}

async function run(parts: AgentContainerParts, input: AgentContainerInput, context: EffectContext): Promise<Json> {
  const engine = requireEngine(parts.containers);
  const { tenant, effectId, address } = context;
  const owner: ContainerOwner = { tenant, executionId: input.execution_id, effectId, address };
  const planned = await planContainer(parts, engine, input, owner);
  const agent = new RunningAgent(parts, engine, owner, context, {
    secrets: planned.secrets,
    streamBytes: input.stream ? input.limits.output_bytes : 0,
  });
  const running: EngineParts = {
    ...planned.parts,
    extras: {
      ...planned.extras,
      onContainer: (state) => agent.onContainer(state),
      onStdout: agent.onStdout,
    },
  };
  const within: EffectContext = { ...context, signal: AbortSignal.any([context.signal, agent.unwanted]) };
  try {
    const run = () => runContainer(running, planned.container, owner, within);
    const ended = unfailed(await runOwned(running, owner, within, run));
    await agent.finish();
    return { ...resultOf(ended, planned.secrets, input.limits.output_bytes) };
  } finally {
    await agent.close();
    const exchanges = new Set([exchangeOf(parts.directory, effectId), agent.exchange].filter((one) => one !== null));
    await removeExchanges(engine, owner, exchanges, within.signal);
  }
}

/** Keeps the exchanges while another attempt may still adopt the container. */
export async function removeExchanges(
  engine: EngineParts,
  owner: ContainerOwner,
  exchanges: ReadonlySet<string>,
  stopped: AbortSignal,
): Promise<void> {
  try {
    if (stopped.aborted && (await engine.isWanted(owner))) return;
    for (const exchange of exchanges) await removeExchange(exchange);
  } catch (error) {
    engine.warn(
      `the exchange directory of a container could not be removed; the sweep removes it (${toSvcError(error).code})`,
      error,
    );
  }
}

/** The node's work while an agent's container runs: it reports the id and the output, and serves the exchange. */
class RunningAgent {
  readonly #parts: AgentContainerParts;
  readonly #engine: EngineParts;
  readonly #owner: ContainerOwner;
  readonly #context: EffectContext;
  readonly #unwanted = new AbortController();
  readonly #over = new AbortController();
  readonly #progress: ProgressFlow;
  readonly #stdout: CapturedOutput | null;
  #serving: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  /** The exchange directory that the container was created with. */
  exchange: string | null = null;

  constructor(
    parts: AgentContainerParts,
    engine: EngineParts,
    owner: ContainerOwner,
    context: EffectContext,
    /** `streamBytes`: how much of standard output is reported while it comes. */
    { secrets, streamBytes }: { readonly secrets: readonly string[]; readonly streamBytes: number },
  ) {
    this.#parts = parts;
    this.#engine = engine;
    this.#owner = owner;
    this.#context = context;
    this.#progress = new ProgressFlow(
      (text) => context.progress({ text }),
      () => this.#stop(),
    );
    this.#stdout =
      streamBytes === 0 ? null : new CapturedOutput(streamBytes, secrets, (text) => this.#progress.push(text));
  }

  /** Aborted when the actor no longer wants the result. */
  get unwanted(): AbortSignal {
    return this.#unwanted.signal;
  }

  get onStdout(): ((chunk: Buffer) => void) | null {
    const stdout = this.#stdout;
    return stdout === null ? null : (chunk) => stdout.push(chunk);
  }

  /** The id is durable before the container starts: an agent that attests at once is known by its container. */
  async onContainer(state: ContainerState): Promise<void> {
    this.exchange = state.labels[EXCHANGE_LABEL] ?? null;
    if (!(await this.#context.progress({ container_id: state.id }))) this.#stop();
    this.#unwanted.signal.throwIfAborted();
    if (this.exchange === null || state.phase === 'ended') return;
    this.#serving = this.#serve(state.id, this.exchange);
  }

  async #serve(id: string, directory: string): Promise<void> {
    const signal = AbortSignal.any([this.#over.signal, this.#unwanted.signal, this.#context.signal]);
    try {
      await startExchange({
        directory,
        signal,
        clock: this.#engine.clock,
        handle: (request) => untilAborted(answerGateway(this.#parts.gateway, this.#owner, request, { signal }), signal),
      });
    } catch (error) {
      if (signal.aborted) return;
      this.#failure = error;
      // Without answers the agent would only wait until its time-out.
      await killContainer(this.#engine.engine, id, signal).catch((thrown: unknown) => {
        if (!signal.aborted) this.#engine.warn(`container ${id} could not be killed`, thrown);
      });
    }
  }

  /** Resolves when all progress is reported. Throws the error that ended the exchange. */
  async finish(): Promise<void> {
    this.#stdout?.end();
    await this.#progress.finish();
    this.#unwanted.signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure;
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#serving;
  }

  #stop(): void {
    this.#unwanted.abort(new SvcError('cancelled', 'the result of this agent is no longer wanted'));
  }
}

/** The result in the format of `program.run`, without secrets in its output. */
function resultOf(ended: ContainerResult, secrets: readonly string[], limitBytes: number): AgentContainerResult {
  const stdout = cut(clean(ended.stdout, secrets), limitBytes);
  const stderr = cut(clean(ended.stderr, secrets), limitBytes);
  const { exit_code, duration_ms, timed_out, stopped_by } = ended;
  return {
    exit_code,
    // A run that a limit ended is not judged by validators.
    ...(stopped_by === undefined ? {} : { signal: 'SIGKILL' as const, stopped_by }),
    stdout: stdout.text,
    stderr: stderr.text,
    duration_ms,
    stdout_truncated: ended.stdout_truncated || stdout.truncated,
    stderr_truncated: ended.stderr_truncated || stderr.truncated,
    timed_out,
  };
}

function clean(text: string, secrets: readonly string[]): string {
  const redactor = new Redactor(secrets);
  return redactor.push(text) + redactor.end();
}

function cut(text: string, limitBytes: number): { readonly text: string; readonly truncated: boolean } {
  const kept = new CapturedStream(limitBytes);
  kept.push(Buffer.from(text));
  return { text: kept.text(), truncated: kept.truncated };
}
