import { ScriptRequest, type ScriptResult, scriptOutput } from '../../manifests/agent/workspace-checks.ts';
import { programRules } from '../../manifests/tool/contract.ts';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ToolCommandRequest, ToolCommands } from '../../usecases/ports/commands.ts';
import type { ScriptRules } from '../../usecases/ports/script-rules.ts';

interface ScriptEffectParts {
  readonly commands: ToolCommands;
  readonly rules: ScriptRules;
}

/**
 * The effect `script.run` (repeatable): the script of a validator in the workspace of its execution on this host, as a command
 * of `cmd.run`: the same sandbox, rules and limits. Throws `forbidden` and `unsupported_isolation`, as these do. When the
 * node's own store is unreachable the error passes through, so that the runner waits for it.
 */
export function createScriptEffect({ commands, rules }: ScriptEffectParts): EffectHandler<typeof ScriptRequest> {
  return defineEffect({
    kind: 'script.run',
    input: ScriptRequest,
    async run(request, { tenant, signal }) {
      const { path, input, subject } = request;
      const { scope, timeoutMs, limits } = rules(tenant, request);
      if (subject.execution_id === null) throw new SvcError('invalid_argument', 'a script belongs to an execution');
      return run(commands, signal, {
        tenant,
        execution_id: subject.execution_id,
        command: path,
        args: [],
        mounts: subject.mounts,
        timeout_ms: timeoutMs,
        max_output_bytes: limits.max_output_bytes,
        max_concurrent: limits.max_concurrent,
        env_denylist: limits.env_denylist,
        rules: programRules(scope),
        input,
      });
    },
  });
}

async function run(commands: ToolCommands, signal: AbortSignal, request: ToolCommandRequest): Promise<ScriptResult> {
  const { timeout_ms } = request;
  try {
    const { exit_code, stopped_by, ...streams } = await commands.run(request, signal);
    const output = scriptOutput(streams);
    return { status: 'ended', exit_code, output, timeout_ms, ...(stopped_by === undefined ? {} : { stopped_by }) };
  } catch (thrown) {
    const reason = signal.aborted ? null : notStarted(thrown);
    if (reason === null) throw thrown;
    return { status: 'not_started', reason };
  }
}

/** Why it could not be started, if the script itself is at fault or another iteration may help; otherwise null. */
function notStarted(thrown: unknown): string | null {
  if (!(thrown instanceof SvcError)) return null;
  const { code, field, message } = thrown;
  if (code === 'program_failed' || code === 'failed_precondition' || code === 'quota_exceeded') return message;
  return code === 'not_found' && field === 'command' ? message.replace(/^command: /, '') : null;
}
