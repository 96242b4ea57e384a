import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { runContainer } from './container-run.ts';
import { containerName } from './create-options.ts';
import { isGone, refusalOf } from './engine-error.ts';
import { ContainerInput } from './input.ts';
import type { ContainerOwner, ContainerParts, EngineParts } from './settings.ts';
import { killContainer, removeContainer } from './state.ts';

/** The runner waits 3 s for a stopped effect. */
const LET_GO_MS = 2_500;

/**
 * `container.run` (repeatable): one command in a hardened container (W12). Its end is a result
 * whatever its exit code. An attempt that finds the container of an earlier one adopts it. Throws `image_unavailable`,
 * `container_failed`, `quota_exceeded`, `in_doubt`, `unavailable` (engine away for longer than its patience) and
 * `unsupported_isolation` when no engine is configured.
 */
export function createContainerEffect(parts: ContainerParts): EffectHandler<typeof ContainerInput> {
  return defineEffect({
    kind: 'container.run',
    input: ContainerInput,
    run: (input, context) => run(parts, input, context),
  });
}

async function run(parts: ContainerParts, input: ContainerInput, context: EffectContext): Promise<Json> {
  const withEngine = requireEngine(parts);
  const owner: ContainerOwner = {
    tenant: context.tenant,
    executionId: input.workflow_execution_id,
    effectId: context.effectId,
    address: context.address,
  };
  const result = await runOwned(withEngine, owner, context, () => runContainer(withEngine, input, owner, context));
  return { ...result };
}

/** Throws `unsupported_isolation` where the node has no engine. */
export function requireEngine(parts: ContainerParts): EngineParts {
  const { engine } = parts;
  if (engine !== null) return { ...parts, engine };
  throw new SvcError(
    'unsupported_isolation',
    'this node has no container engine: set spec.runtime.container_socket_path or DOCKER_HOST',
  );
}

/** Runs an effect's container; what becomes of one whose attempt was stopped, and what errors say, is the same for all. */
export async function runOwned<T>(
  parts: EngineParts,
  owner: ContainerOwner,
  { signal }: Pick<EffectContext, 'signal'>,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (signal.aborted) await letGo(parts, owner, signal);
    throw explained(error);
  } finally {
    parts.onEnd?.(owner);
  }
}

/** What the engine refused without this code expecting it. */
function explained(error: unknown): unknown {
  if (isGone(error)) return new SvcError('in_doubt', 'the container was removed from the engine; it was not run again');
  const refusal = refusalOf(error);
  return refusal === null ? error : new SvcError('container_failed', `the container engine refused: ${refusal.reason}`);
}

/**
 * The attempt was stopped. Cancelled: nobody waits any more, so the container goes. Node stopping, claim lost or taken
 * over: the effect is still wanted and whoever takes it next adopts the container, so it stays. The effect's record
 * knows which; when it cannot be asked, the sweep decides later.
 */
async function letGo(parts: EngineParts, owner: ContainerOwner, aborted: AbortSignal): Promise<void> {
  const limit = new AbortController();
  const cancel = parts.clock.after(LET_GO_MS, () => limit.abort(new SvcError('unavailable')));
  const name = containerName(owner.effectId);
  try {
    const code = aborted.reason instanceof SvcError ? aborted.reason.code : 'cancelled';
    // Another attempt goes on with it, on this node or another.
    if (code === 'lease_lost') return;
    // Its whole time is over: it must not work on, but stays as the record that it ran.
    if (code === 'deadline_exceeded') await killContainer(parts.engine, name, limit.signal);
    else if (!(await parts.isWanted(owner))) await removeContainer(parts.engine, name, limit.signal);
  } catch (error) {
    parts.warn(`the container of a stopped effect is left to the sweep (${toSvcError(error).code})`, error);
  } finally {
    cancel();
  }
}
