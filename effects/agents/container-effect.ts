import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { toSvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { CapturedStream } from '../containers/captured-stream.ts';
import { requireEngine, runOwned } from '../containers/container-effect.ts';
import { runContainer } from '../containers/container-run.ts';
import type { ContainerResult } from '../containers/input.ts';
import type { ContainerOwner, EngineParts } from '../containers/settings.ts';
import { Redactor } from '../programs/captured-output.ts';
import { type AgentGateway, answerGateway, type GatewayHandler } from './bootstrap/api.ts';
import { AgentWatch, boxOf, removeBox } from './box.ts';
import { AgentContainerInput, type AgentContainerResult } from './input.ts';
import { type AgentContainerParts, planContainer } from './plan-container.ts';

/**
 * `agent.container` (repeatable): one iteration of an agent of isolation `docker` (W26), in a container
 * hardened like `container.run`'s. While it runs, its mailbox is served by calling the gateway. An attempt that finds the
 * container of an earlier one adopts it. Progress `{container_id}` before the bootstrap begins and after an adoption,
 * `{text}` where the input asks for it. Throws `unsupported_isolation` without an engine, `unsupported_runtime`, and what
 * `container.run` throws.
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
  const watch = new AgentWatch({
    ...{ engine, owner, context, secrets: planned.secrets },
    handle: gatewayOf(parts.gateway, owner),
    streamBytes: input.stream ? input.limits.output_bytes : 0,
  });
  const running: EngineParts = {
    ...planned.parts,
    extras: {
      ...planned.extras,
      onContainer: (state) => watch.onContainer(state),
      onStdout: watch.onStdout,
    },
  };
  const within: EffectContext = { ...context, signal: AbortSignal.any([context.signal, watch.unwanted]) };
  try {
    const ended = await runOwned(running, owner, within, () => runContainer(running, planned.container, owner, within));
    await watch.finish();
    return { ...resultOf(ended, planned.secrets, input.limits.output_bytes) };
  } finally {
    await watch.close();
    const boxes = [boxOf(parts.directory, effectId), ...(watch.box === null ? [] : [watch.box])];
    await tidy(engine, owner, boxes, within.signal);
  }
}

/** Boxes go with the container's work; another attempt that may adopt the container needs them. */
async function tidy(engine: EngineParts, owner: ContainerOwner, boxes: readonly string[], stopped: AbortSignal) {
  try {
    if (stopped.aborted && (await engine.isWanted(owner))) return;
    for (const box of boxes) await removeBox(box);
  } catch (error) {
    engine.warn(`the mailbox of a container is left to the sweep (${toSvcError(error).code})`, error);
  }
}

/** Answers what comes out of one container: it may speak of its own execution and of nothing else. */
const gatewayOf =
  (gateway: AgentGateway, own: { readonly tenant: string; readonly executionId: string }): GatewayHandler =>
  (request, signal) =>
    untilAborted(answerGateway(gateway, own, request, { signal }), signal);

/** A loop that is slow to hear of the end keeps no container's node waiting. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (signal.aborted) stop();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** How the container ended, in the words of `program.run`; secrets are taken out of what it wrote. */
function resultOf(ended: ContainerResult, secrets: readonly string[], limitBytes: number): AgentContainerResult {
  const stdout = cut(clean(ended.stdout, secrets), limitBytes);
  const stderr = cut(clean(ended.stderr, secrets), limitBytes);
  const { exit_code, duration_ms, timed_out, stopped_by } = ended;
  return {
    exit_code,
    // Ended by a limit and not by itself: no validator judges it.
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
