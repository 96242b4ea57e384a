import { z } from 'zod';
import { KnownVolume } from '../../../manifests/metadata.ts';
import type { StateOf } from '../../../manifests/workflow/schema.ts';
import { type BuiltInCommand, builtInNamed } from '../../../manifests/workflow/state.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../runtime/json.ts';
import { keepTail } from '../../execution/bounded-text.ts';
import { hasRules } from '../../run-rules.ts';
import { askEffect, bounded } from '../ask-effect.ts';
import { writeBlackboard } from '../blackboard.ts';
import { jsonBytes } from '../json-values.ts';
import { LIMITS } from '../limits.ts';
import type { WorkflowTurn } from '../messages.ts';
import { jsonRenderer, renderer, renderMap } from '../scope.ts';
import type { IdleWorkflow } from '../state.ts';
import { type Begun, failed, StepFailed, StepFailure, type StepResult, succeeded } from './step.ts';
import { knownVolume, renderedFiles } from './volumes.ts';

/** Kind System (W8): a built-in ends within the turn, a shell command is the effect `command.run`. */
export function beginSystem(run: IdleWorkflow, step: StateOf<'System'>, turn: WorkflowTurn): Begun {
  const builtin = builtinOf(step.command, run);
  if (builtin !== undefined) return runBuiltin(run, builtin, builtinEnv(run, builtin, step.env), turn);
  return { kind: 'waits', awaiting: { kind: 'command', effect_id: askCommand(run, step, turn), repeats: 0 } };
}

/** Longest time of a command, whatever the state's time-out. */
const MAX_COMMAND_MS = 24 * 3_600_000;

/** Also for a repeat after an outcome in doubt: the same scope renders the same command. */
export function askCommand(run: IdleWorkflow, step: StateOf<'System'>, turn: WorkflowTurn): string {
  const render = renderer(run);
  const { workspace, implicit } = run.storage;
  const known = knownVolume(run, workspace);
  const input = {
    command: render(step.command),
    env: renderMap(render, step.env),
    workdir: render(step.workdir),
    ...renderedFiles(render, step.files),
    workspace: step.workspace === 'none' ? null : { volume_id: workspace, implicit, ...known },
    timeout_ms: Math.min(step.timeout_ms ?? MAX_COMMAND_MS, MAX_COMMAND_MS),
    execution_id: run.execution_id,
    state_name: run.current_state ?? '',
  };
  bounded([input]);
  return askEffect('command.run', input, { entry: run.entry }, turn);
}

/** Result value of the effect `command.run`. */
const CommandEnd = z.object({
  /** Null: ended by a signal. */
  exit_code: z.number().int().nullable(),
  stdout: z.string(),
  stderr: z.string().default(''),
  stdout_truncated: z.boolean().default(false),
  stderr_truncated: z.boolean().default(false),
  timed_out: z.boolean().default(false),
  /** The failure of a command that ran. */
  failure: StepFailed.optional(),
  duration_ms: z.number().default(0),
});

export function commandResult(value: Json, timeoutMs: number | null): StepResult {
  const end = CommandEnd.safeParse(value);
  if (!end.success) return failed('program_failed', 'the result of the command is malformed');
  const { timed_out, stdout_truncated, stderr_truncated, failure: broken, ...output } = end.data;
  const cut = { ...(stdout_truncated ? { stdout_truncated } : {}), ...(stderr_truncated ? { stderr_truncated } : {}) };
  const record = { output: { ...output, ...cut } };
  if (broken !== undefined) return failed(broken.code, broken.message, record);
  if (timed_out) return failed('state_timed_out', timedOutText(timeoutMs), record);
  if (output.exit_code === 0) return succeeded(record);
  return failed('command_failed', endText('the command', output.exit_code, output.stderr), record);
}

const WithWorkspace = z.object({ workspace: KnownVolume });

/** The run with the workspace's record that the command returned, so that the next command need not look it up. */
export function withWorkspace(run: IdleWorkflow, value: Json): IdleWorkflow {
  if (!isJsonObject(value) || !('workspace' in value)) return run;
  const found = WithWorkspace.safeParse(value);
  if (!found.success) return run;
  const { storage } = run;
  return { ...run, storage: { ...storage, known: { ...storage.known, [storage.workspace]: found.data.workspace } } };
}

export const timedOutText = (timeoutMs: number | null): string => `it took longer than its ${timeoutMs} ms`;

export function endText(what: string, exitCode: number | null, stderr: string): string {
  const how = exitCode === null ? 'was ended by a signal' : `ended with exit code ${exitCode}`;
  const said = stderr.trim();
  return said === '' ? `${what} ${how}` : `${what} ${how}: ${keepTail(said, 1_000)}`;
}

/** The built-in that a System state names. */
function builtinOf(command: string, run: IdleWorkflow): BuiltInCommand | undefined {
  const found = builtInNamed(command);
  return found === 'fail' && !hasRules(run, 1) ? undefined : found;
}

/**
 * The rendered `env`. Lists and maps stay JSON. Numbers and booleans do too, except in a result (`finalize`, `fail`), whose
 * values have always been texts.
 */
function builtinEnv(run: IdleWorkflow, builtin: BuiltInCommand, env: JsonObject): JsonObject {
  if (!hasRules(run, 1)) return renderMap(renderer(run), env);
  const render = jsonRenderer(run);
  const isResult = builtin === 'finalize' || builtin === 'fail';
  const entries = Object.entries(env).map(([key, value]): [string, Json] => {
    const json = render(value);
    const isText = isResult && (typeof json === 'number' || typeof json === 'boolean');
    return [key, isText ? String(json) : json];
  });
  return Object.fromEntries(entries);
}

/** Runs within the turn, without a shell; writes the rendered `env`. */
function runBuiltin(run: IdleWorkflow, builtin: BuiltInCommand, env: JsonObject, turn: WorkflowTurn): Begun {
  const done = succeeded({ output: { stdout: '', stderr: '', exit_code: 0 } });
  switch (builtin) {
    case 'update_context':
      return { kind: 'ended', run: withContext(run, env), result: done };
    case 'update_blackboard':
      return { kind: 'ended', run: writeBlackboard(run, env, turn), result: done };
    case 'finalize':
      return { kind: 'ended', run, result: { ...succeeded({ output: env }), final: true } };
    case 'fail':
      return { kind: 'ended', run, result: failure(env) };
  }
}

/** Result of `fail`: the author's code and message are the state's error. */
function failure(env: JsonObject): StepResult {
  const { code = 'workflow_failed', message = 'the workflow ended as failed' } = env;
  if (typeof code !== 'string' || !/^[a-z][a-z0-9_]{0,62}$/.test(code))
    throw new StepFailure('invalid_argument', 'fail: env.code: expected 1 to 63 of a–z, 0–9 and _, a letter first');
  return failed(code, typeof message === 'string' ? message : JSON.stringify(message), { output: env });
}

function withContext(run: IdleWorkflow, env: JsonObject): IdleWorkflow {
  const context = { ...run.context, ...env };
  const bytes = jsonBytes(context);
  if (bytes <= LIMITS.contextBytes) return { ...run, context };
  throw new StepFailure('context_full', `the context would have ${bytes} bytes, the limit is ${LIMITS.contextBytes}`);
}
