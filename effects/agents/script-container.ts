import { z } from 'zod';
import { ScriptRequest, type ScriptResult, scriptOutput } from '../../manifests/agent/workspace-checks.ts';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { unfailed } from '../../usecases/ports/commands.ts';
import type { AllowedScript, ScriptRules } from '../../usecases/ports/script-rules.ts';
import { requireEngine, runOwned } from '../containers/container-effect.ts';
import { runContainer } from '../containers/container-run.ts';
import type { ContainerInput, ContainerResult } from '../containers/input.ts';
import type { ContainerOwner, EngineParts } from '../containers/settings.ts';
import { WORKSPACE } from '../programs/view.ts';
import { removeExchanges } from './container-effect.ts';
import { exchangeOf, prepareScriptInput, SCRIPT_INPUT } from './exchange-directory.ts';
import { AgentContainerInput } from './input.ts';
import { type AgentContainerParts, defaultUser, limitsOf, runtimeOf } from './plan-container.ts';

const { image, language, version, image_pull_policy, network, read_only, mounts, limits } = AgentContainerInput.shape;

/** Input of `script.container`: the script, and the container of its agent. */
export const ContainerScript = ScriptRequest.extend({
  container: z.object({
    image,
    language,
    version,
    image_pull_policy,
    network,
    read_only,
    limits: limits.pick({ memory_bytes: true, cpu_millicores: true, disk_bytes: true }),
  }),
  subject: ScriptRequest.shape.subject.extend({ execution_id: z.string().min(1).max(200), mounts }),
});

export type ContainerScript = z.output<typeof ContainerScript>;

interface ScriptContainerParts extends Pick<AgentContainerParts, 'containers' | 'directory' | 'runtimes' | 'network'> {
  readonly rules: ScriptRules;
}

/**
 * `script.container` (repeatable): the script of a validator in a container of its own, like that of its agent but without the
 * agent's variables and the gateway. Another attempt adopts the container. Throws `forbidden` and what `container.run` throws.
 */
export function createScriptContainerEffect(parts: ScriptContainerParts): EffectHandler<typeof ContainerScript> {
  return defineEffect({
    kind: 'script.container',
    input: ContainerScript,
    async run(script, context) {
      const engine = requireEngine(parts.containers);
      const allowed = parts.rules(context.tenant, script);
      return inContainer(parts, engine, { script, allowed }, context);
    },
  });
}

async function inContainer(
  parts: ScriptContainerParts,
  engine: EngineParts,
  { script, allowed }: { readonly script: ContainerScript; readonly allowed: AllowedScript },
  context: EffectContext,
): Promise<ScriptResult> {
  const { tenant, effectId, address } = context;
  const { container, subject, input } = script;
  const owner: ContainerOwner = { tenant, executionId: subject.execution_id, effectId, address };
  const directory = exchangeOf(parts.directory, effectId);
  try {
    const binds = await prepareScriptInput(directory, input);
    for (const { volume_id, create } of subject.mounts) {
      if (create) await engine.volumes.open(tenant, volume_id, { create });
    }
    const running: EngineParts = {
      ...engine,
      limits: limitsOf(parts, engine, container),
      extras: {
        binds,
        labels: {},
        user: engine.limits.user ?? defaultUser(),
        onContainer: async () => {},
        onStdout: null,
      },
    };
    const run = () => runContainer(running, containerOf(parts, script, allowed, effectId), owner, context);
    return resultOf(script, allowed, unfailed(await runOwned(running, owner, context, run)), effectId);
  } catch (thrown) {
    if (context.signal.aborted || !(thrown instanceof SvcError)) throw thrown;
    if (thrown.code !== 'quota_exceeded') throw thrown;
    return { status: 'not_started', reason: thrown.message };
  } finally {
    await removeExchanges(engine, owner, new Set([directory]), context.signal);
  }
}

/**
 * Executes `$1` with the file `$3` as its standard input. For one that cannot be executed it writes one line to stderr: `$2`,
 * which no script knows, and the exit code.
 */
const START =
  'fail() { echo "$1 $2" >&2; exit "$2"; }; [ -e "$1" ] || fail "$2" 127; { [ -f "$1" ] && [ -x "$1" ]; } || fail "$2" 126; exec "$1" <"$3"';

function containerOf(
  parts: ScriptContainerParts,
  { path, subject, container }: ContainerScript,
  { timeoutMs }: AllowedScript,
  mark: string,
): ContainerInput {
  const { limits: own, read_only: readOnly, image_pull_policy: pull } = container;
  const runtime = runtimeOf(parts.runtimes, container);
  return {
    workflow_execution_id: subject.execution_id,
    state_name: 'validator',
    image: runtime.image,
    image_pull_policy: pull,
    command: ['/bin/sh', '-c', START, 'svc-script', path, mark, SCRIPT_INPUT],
    shell: false,
    env: { ...runtime.env, HOME: WORKSPACE, SVC_WORKSPACE: WORKSPACE, SVC_EXECUTION_ID: subject.execution_id },
    workdir: WORKSPACE,
    mounts: subject.mounts.map(({ volume_id, mount_path, ...mount }) => ({
      volume_id,
      mount_path,
      read_only: readOnly || mount.read_only,
    })),
    timeout_ms: timeoutMs,
    memory_bytes: own.memory_bytes ?? undefined,
    cpu_millicores: own.cpu_millicores ?? undefined,
  };
}

function resultOf(
  { path }: ContainerScript,
  { timeoutMs }: AllowedScript,
  ended: ContainerResult,
  mark: string,
): ScriptResult {
  const { exit_code, stopped_by } = ended;
  if (ended.stdout_bytes === 0 && ended.stderr === `${mark} ${exit_code}\n`) {
    const why = exit_code === 127 ? 'does not exist' : 'is not an executable file (chmod +x)';
    return { status: 'not_started', reason: `${path} ${why}` };
  }
  return {
    status: 'ended',
    exit_code,
    output: scriptOutput(ended),
    timeout_ms: timeoutMs,
    ...(stopped_by === undefined ? {} : { stopped_by }),
  };
}
