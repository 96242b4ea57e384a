import type { Interpretation, Left } from './interpreter.ts';
import { type Json, type JsonMap, listOr, mapOr, numberOr, type State, textOr } from './manifest.ts';
import { type Mount, runShell, type ShellEnd } from './shell.ts';
import { render, renderJson } from './templates.ts';

type Render = (template: Json | undefined) => string;

const WORKSPACE = '/workspace';

const rendering = (run: Interpretation, name: string): Render => {
  const scope = run.scope();
  return (template) => render(textOr(template, ''), scope, name);
};

const renderedMap = (map: JsonMap, one: Render): Record<string, string> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, one(value)]));

/** Kind System: a shell command in the workspace, or one of the four built-in commands. */
export function runSystem(state: State, name: string, run: Interpretation): Left {
  const builtIn = runBuiltIn(state, name, run);
  if (builtIn !== null) return builtIn;
  const one = rendering(run, name);
  const workspace = workspaceOf(run);
  for (const [path, content] of Object.entries(mapOr(state.files))) workspace.files.set(path, one(content));
  const command = one(state.command);
  if (command.startsWith('sleep ')) return { entry: { status: 'failed' }, error: 'state_timed_out' };
  const env = renderedMap(mapOr(state.env), one);
  const workdir = state.workdir === undefined ? WORKSPACE : one(state.workdir);
  const end = runShell(command, { env, workdir, mounts: [workspace] });
  return commandLeft(end);
}

const commandLeft = (end: ShellEnd): Left =>
  end.exit_code === 0
    ? { entry: { status: 'success', output: endOf(end) }, error: null }
    : { entry: { status: 'failed', output: endOf(end) }, error: 'command_failed' };

const endOf = ({ stdout, stderr, exit_code }: ShellEnd): JsonMap => ({ stdout, stderr, exit_code });

function runBuiltIn(state: State, name: string, run: Interpretation): Left | null {
  const scope = run.scope();
  const env = mapOr(renderJson(mapOr(state.env), scope, name));
  const done: JsonMap = { status: 'success', output: { stdout: '', stderr: '', exit_code: 0 } };
  switch (state.command) {
    case 'update_blackboard':
      return { entry: done, error: null, writes: env };
    case 'update_context':
      run.context = { ...run.context, ...env };
      return { entry: done, error: null };
    case 'finalize':
      return { entry: { status: 'success', output: asResult(env) }, error: null, final: true };
    case 'fail':
      return { entry: { status: 'failed', output: asResult(env) }, error: textOr(env.code, 'workflow_failed') };
    default:
      return null;
  }
}

/** Numbers and booleans of a result become texts. */
const asResult = (env: JsonMap): JsonMap =>
  Object.fromEntries(
    Object.entries(env).map(([key, value]) => {
      return [key, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value];
    }),
  );

function workspaceOf(run: Interpretation): Mount {
  return { at: WORKSPACE, files: run.volumes.get('workspace') ?? new Map(), readOnly: false };
}

/** Kind ContainerRun: one command, at most `retry.max_attempts` times. */
export function runContainer(state: State, name: string, run: Interpretation): Left {
  const attempts = numberOr(mapOr(state.retry).max_attempts, 1);
  let end = containerEnd(state, name, run);
  for (let attempt = 2; end.exit_code !== 0 && attempt <= attempts; attempt += 1) end = containerEnd(state, name, run);
  return commandLeft(end);
}

function containerEnd(step: JsonMap, name: string, run: Interpretation): ShellEnd {
  const one = rendering(run, name);
  const command = listOr(step.command).map(one);
  const mounts = listOr(step.volumes).map((volume): Mount => {
    const { name: of, mount_path, read_only } = mapOr(volume);
    const files = run.volumes.get(textOr(of, '')) ?? new Map<string, string>();
    return { at: textOr(mount_path, ''), files, readOnly: read_only === true };
  });
  const all = mounts.some(({ at }) => at === WORKSPACE) ? mounts : [...mounts, workspaceOf(run)];
  const env = renderedMap(mapOr(step.env), one);
  const workdir = step.workdir === undefined ? WORKSPACE : one(step.workdir);
  // Without a shell that joins the lines, the script is the argument after `sh -c`.
  const script = step.shell === true ? command.join(' ') : (command[2] ?? '');
  return runShell(script, { env, workdir, mounts: all });
}

/** Kind ParallelContainerRun: all steps, and the strategy of completion over their exit codes. */
export function runContainers(state: State, name: string, run: Interpretation): Left {
  const ends = listOr(state.steps).map((step): [string, ShellEnd] => {
    const fields = mapOr(step);
    return [textOr(fields.name, ''), containerEnd(fields, name, run)];
  });
  const good = ends.filter(([, { exit_code }]) => exit_code === 0).length;
  const enough = { all_succeed: good === ends.length, any_succeed: good > 0, best_effort: true };
  const succeeded =
    enough[state.completion === 'any_succeed' || state.completion === 'best_effort' ? state.completion : 'all_succeed'];
  const output = Object.fromEntries(ends.map(([step, end]) => [step, endOf(end)]));
  return succeeded
    ? { entry: { status: 'success', output }, error: null }
    : { entry: { status: 'failed', output }, error: 'steps_failed' };
}
