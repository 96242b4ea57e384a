import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { runContainer } from './container-run.ts';
import { containerName } from './create-options.ts';
import { isGone, refusalOf } from './engine-error.ts';
import { ContainerInput } from './input.ts';
import type { ContainerOwner, ContainerParts, EngineParts } from './settings.ts';
import { killContainer, removeContainer } from './state.ts';

/** Less than the 3 s that the effect runner waits for a stopped effect. */
const CLEANUP_MS = 2_500;

/**
 * `container.run` (repeatable): one command in a hardened container (W12). Any exit code is a result. An attempt that finds
 * the container of an earlier one adopts it. Throws `image_unavailable`, `container_failed`, `quota_exceeded`, `in_doubt`,
 * `unavailable` (engine unreachable for longer than its retries last) and `unsupported_isolation` without an engine.
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

/** Throws `unsupported_isolation` if the node has no engine. */
export function requireEngine(parts: ContainerParts): EngineParts {
  const { engine } = parts;
  if (engine !== null) return { ...parts, engine };
  throw new SvcError(
    'unsupported_isolation',
    'this node has no container engine: set spec.runtime.container_socket_path or DOCKER_HOST',
  );
}

/** Runs the container of an effect, cleans up if the attempt is stopped, and translates errors of the engine. */
export async function runOwned<T>(
  parts: EngineParts,
  owner: ContainerOwner,
  { signal }: Pick<EffectContext, 'signal'>,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (signal.aborted) await cleanUp(parts, owner, signal);
    throw explained(error);
  } finally {
    parts.onEnd?.(owner);
  }
}

/** Translates errors of the engine that no caller has handled. */
function explained(error: unknown): unknown {
  if (isGone(error)) return new SvcError('in_doubt', 'the container was removed from the engine; it was not run again');
  const refusal = refusalOf(error);
  return refusal === null ? error : new SvcError('container_failed', `the container engine refused: ${refusal.reason}`);
}

/**
 * After a stopped attempt: removes the container if the effect was cancelled. Keeps it if the effect is still wanted (the
 * node stops, the claim was lost): the next attempt adopts it. If the record of the effect cannot be read, the sweep decides
 * later.
 */
async function cleanUp(parts: EngineParts, owner: ContainerOwner, aborted: AbortSignal): Promise<void> {
  const limit = new AbortController();
  const cancel = parts.clock.after(CLEANUP_MS, () => limit.abort(new SvcError('unavailable')));
  const name = containerName(owner.effectId);
  try {
    const code = aborted.reason instanceof SvcError ? aborted.reason.code : 'cancelled';
    // Another attempt, here or on another node, continues with it.
    if (code === 'lease_lost') return;
    // Out of time: it must stop, but stays as the record that it ran.
    if (code === 'deadline_exceeded') await killContainer(parts.engine, name, limit.signal);
    else if (!(await parts.isWanted(owner))) await removeContainer(parts.engine, name, limit.signal);
  } catch (error) {
    parts.warn(
      `the container of a stopped effect could not be removed; the sweep removes it (${toSvcError(error).code})`,
      error,
    );
  } finally {
    cancel();
  }
}
