import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { toSvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { requireEngine, runOwned } from '../containers/container-effect.ts';
import { runContainer } from '../containers/container-run.ts';
import type { ContainerOwner } from '../containers/labels.ts';
import type { EngineParts } from '../containers/settings.ts';
import { AgentWatch } from './agent-watch.ts';
import { boxOf, removeBox } from './box.ts';
import type { AgentContainerParts } from './container-parts.ts';
import { gatewayOf } from './gateway.ts';
import { AgentContainerInput } from './input.ts';
import { planContainer } from './plan-container.ts';
import { resultOf } from './result.ts';

/**
 * `agent.container` (repeatable): one iteration of an agent of isolation `docker` (original-facts 2.11), in a container
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
