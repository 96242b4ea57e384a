import { type CommandRunner, parseCommand } from '../../effects/commands/api.ts';
import { ExecuteSystemCommandRequest, ExecuteSystemCommandResponse } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../runtime/errors.ts';
import { atDeadline, callerOf, hasBegun } from './call-context.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryCall, type UnaryInBytes, unary, unserved } from './service.ts';

/** Original-facts 1.4. */
const DEFAULT_TIMEOUT_SECONDS = 600;
const MAX_TIMEOUT_SECONDS = 86_400;

/**
 * ExecuteSystemCommand (spec 1): a shell command on this host, in an empty workspace of its own. An exit code other
 * than 0 is a normal answer; the time given over is DEADLINE_EXCEEDED. The end of the call, by cancel, deadline or a lost connection, ends the command with all it started.
 */
export function executeSystemCommand(parts: GrpcParts): UnaryInBytes {
  const { commands } = parts;
  if (commands === undefined) return unserved(parts, ExecuteSystemCommandRequest);
  return unary(parts, async (call) => {
    const { tenant } = callerOf(call.metadata).identity;
    const asked = commandOf(decoded(ExecuteSystemCommandRequest, call.request));
    // How long the command takes says nothing about this node.
    hasBegun(call.metadata);
    const result = await untilCallEnds(call, (signal) => commands.run({ ...asked, tenant, workspace: null }, signal));
    return ExecuteSystemCommandResponse.encode(answerOf(result, asked.timeout_ms)).finish();
  });
}

function commandOf({ command, env, workdir, timeout_seconds = DEFAULT_TIMEOUT_SECONDS }: ExecuteSystemCommandRequest) {
  if (timeout_seconds < 1 || timeout_seconds > MAX_TIMEOUT_SECONDS) {
    const field = 'timeout_seconds';
    throw new SvcError('invalid_argument', `${field}: expected 1 to ${MAX_TIMEOUT_SECONDS}`, { field });
  }
  // An empty workdir is none: proto3 clients often send it so.
  const given = workdir === undefined || workdir === '' ? {} : { workdir };
  return parseCommand({ command, env, ...given, timeout_ms: timeout_seconds * 1_000 });
}

type Result = Awaited<ReturnType<CommandRunner['run']>>;

async function untilCallEnds(call: UnaryCall, run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const ended = new AbortController();
  const onCancel = (): void => ended.abort(new SvcError('cancelled', 'the call was cancelled'));
  const onDeadline = (): void => ended.abort(new SvcError('deadline_exceeded', 'the deadline of the call passed'));
  call.once('cancelled', onCancel);
  const forgetDeadline = atDeadline(call.getDeadline(), onDeadline);
  if (call.cancelled) onCancel();
  try {
    return await run(ended.signal);
  } finally {
    forgetDeadline();
    call.off('cancelled', onCancel);
  }
}

/** A time-out is no answer; what another limit ended has the exit code of a kill, and its reason last in stderr. */
function answerOf({ exit_code, stdout, stderr, duration_ms, stopped_by }: Result, timeoutMs: number) {
  if (stopped_by === 'timeout') {
    throw new SvcError('deadline_exceeded', `the command did not end within ${timeoutMs / 1_000} s and was ended`);
  }
  if (stopped_by === undefined) return { exit_code, stdout, stderr, duration_ms };
  return { exit_code, stdout, stderr: `${stderr}\nsvc: ended, it used more ${stopped_by} than it may\n`, duration_ms };
}
