import { constants } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { longTimer } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ProgramResult } from '../../usecases/ports/commands.ts';
import { CapturedOutput } from './captured-output.ts';
import type { GroupExcess, GroupWatch } from './group-watch.ts';
import type { ProgramLimits } from './input.ts';
import { type Launch, type LaunchedProgram, launch } from './launch.ts';
import { endRun, recordRun } from './leftovers.ts';
import type { Guard } from './mounts.ts';
import { killTree, signal } from './process-table.ts';
import { beforeStart } from './workspace.ts';

interface Supervision {
  /** Directory for records of runs: the node ends leftovers after a restart. */
  readonly workspaces: string;
  /** Mark of the run, also in the program's environment. */
  readonly run: string;
  readonly watch: GroupWatch;
  /** Time between TERM and KILL. */
  readonly killGraceMs: number;
  readonly stop: AbortSignal;
  readonly secrets?: readonly string[];
  readonly onText?: (text: string) => void;
  readonly guard?: Guard;
  /** Called after the start. An error ends the program. */
  readonly whenStarted?: (program: LaunchedProgram) => Promise<void>;
}

/**
 * Runs a program from its start to the end of its last process, recorded on disk meanwhile. A volume that became full is a
 * result with `failure`.
 */
export async function supervise(program: Launch, supervision: Supervision): Promise<ProgramResult> {
  const end: { full: SvcError | null } = { full: null };
  const result = await runGuarded(program, supervision, (full) => {
    end.full = full;
  });
  const { full } = end;
  return full === null ? result : { ...result, failure: { code: full.code, message: full.message } };
}

async function runGuarded(
  program: Launch,
  supervision: Supervision,
  onUnguarded: (full: SvcError | null) => void,
): Promise<ProgramResult> {
  const { workspaces, run, watch, killGraceMs, secrets = [], onText = () => {}, guard } = supervision;
  const ended = new AbortController();
  const stop = AbortSignal.any([supervision.stop, ended.signal]);
  let unguard: () => Promise<SvcError | null> = async () => null;
  try {
    await beforeStart(recordRun(workspaces, run));
    unguard = (await guard?.((why) => ended.abort(why))) ?? unguard;
    stop.throwIfAborted();
    const launched = await launch(program);
    const { limits } = program;
    const recorded = recordRun(workspaces, run, launched.group).catch((cause: unknown) =>
      ended.abort(
        new SvcError('program_failed', 'its process group could not be recorded, so the program was ended', { cause }),
      ),
    );
    supervision
      .whenStarted?.(launched)
      .catch((cause: unknown) =>
        ended.abort(cause instanceof SvcError ? cause : new SvcError('program_failed', undefined, { cause })),
      );
    try {
      // Awaited at once, since an abort may reject it while the record is written.
      return await followProgram(launched, { limits, watch, killGraceMs, stop, keeps: ended.signal, secrets, onText });
    } finally {
      // The record is deleted next; a later write would leave it behind.
      await recorded;
    }
  } finally {
    try {
      await endRun(workspaces, run);
    } finally {
      onUnguarded(await unguard());
    }
  }
}

type StopCause = 'timeout' | 'output' | GroupExcess;

interface RunOptions {
  readonly limits: ProgramLimits;
  readonly watch: GroupWatch;
  /** Time between TERM and KILL. */
  readonly killGraceMs: number;
  readonly secrets: readonly string[];
  readonly onText: (text: string) => void;
  readonly stop: AbortSignal;
  /** A stop by this signal with `quota_exceeded` is a result, since the output says what was done until then. */
  readonly keeps?: AbortSignal;
}

/** How long to read output after the end of the process group: a process that left the group may hold the pipe open. */
const DRAIN_MS = 1_000;

/**
 * Follows a started program to its end: output, time-out, limits, stop signal. Kills the rest of its group. Throws the
 * signal's reason if that ended it.
 */
export async function followProgram(program: LaunchedProgram, options: RunOptions): Promise<ProgramResult> {
  const { limits, watch, secrets, onText, stop } = options;
  const startedAt = performance.now();
  const stdout = new CapturedOutput(limits.output_bytes, secrets, onText);
  const stderr = new CapturedOutput(limits.output_bytes, secrets);
  const ender = new GroupEnder(program, options.killGraceMs);
  let leftBytes = limits.total_output_bytes ?? Number.POSITIVE_INFINITY;
  const take = (into: CapturedOutput, chunk: Buffer): void => {
    into.push(chunk.length > leftBytes ? chunk.subarray(0, leftBytes) : chunk);
    if (chunk.length > leftBytes) ender.kill('output');
    leftBytes = Math.max(0, leftBytes - chunk.length);
  };
  program.stdout.on('data', (chunk: Buffer) => take(stdout, chunk));
  program.stderr.on('data', (chunk: Buffer) => take(stderr, chunk));
  const onStop = () => ender.end(null);
  const cancelTimeout = longTimer(limits.timeout_ms, () => ender.end('timeout'));
  const groupLimits = {
    memoryBytes: limits.memory_bytes ?? null,
    processes: limits.processes,
    refused: program.refused,
  };
  const unwatch = watch.watch(program.group, groupLimits, (what) => ender.kill(what));
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  const exit = await exited(program, () => {
    cancelTimeout();
    unwatch();
    stop.removeEventListener('abort', onStop);
    ender.over();
  });
  // Only if the stop came before the end; otherwise the end is a result.
  if (ender.stopped && !isFullVolume(options.keeps?.reason)) throw stop.reason;
  // It may have ended by itself before the watch checked.
  if (program.refused?.() === true) ender.cause ??= 'processes';
  stdout.end();
  stderr.end();
  return {
    exit_code: exit.code ?? 128 + (exit.signal === null ? 0 : constants.signals[exit.signal]),
    ...(exit.signal === null ? {} : { signal: exit.signal }),
    stdout: stdout.text,
    stderr: stderr.text,
    duration_ms: Math.round(performance.now() - startedAt),
    stdout_truncated: stdout.truncated,
    stderr_truncated: stderr.truncated,
    timed_out: ender.cause === 'timeout',
    ...(ender.cause === null ? {} : { stopped_by: ender.cause }),
  };
}

const isFullVolume = (reason: unknown): boolean => reason instanceof SvcError && reason.code === 'quota_exceeded';

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Resolves when the program has ended, its group is killed and its output is read. */
async function exited({ child, stdout, stderr, release }: LaunchedProgram, ended: () => void): Promise<Exit> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const exit = await new Promise<Exit>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      return resolve({ code: child.exitCode, signal: child.signalCode });
    }
    child.once('exit', (code, signalName) => resolve({ code, signal: signalName }));
  });
  ended();
  release();
  const waited = new AbortController();
  await Promise.race([closed, pause(DRAIN_MS, undefined, { signal: waited.signal }).catch(() => {})]);
  waited.abort();
  stdout.destroy();
  stderr.destroy();
  return exit;
}

/** Ends a process group: TERM, then KILL after a grace period. The group's id is valid until the leader's exit is seen. */
class GroupEnder {
  readonly #group: number;
  readonly #terminationGroup: () => number;
  readonly #graceMs: number;
  #timer: NodeJS.Timeout | null = null;
  #over = false;
  cause: StopCause | null = null;
  /** Ended by the stop signal, not by a limit. */
  stopped = false;

  constructor({ group, terminationGroup }: Pick<LaunchedProgram, 'group' | 'terminationGroup'>, graceMs: number) {
    this.#group = group;
    this.#terminationGroup = terminationGroup;
    this.#graceMs = graceMs;
  }

  end(cause: StopCause | null): void {
    if (this.#over || this.#timer !== null) return;
    this.cause ??= cause;
    this.stopped = cause === null;
    signal(-this.#terminationGroup(), 'SIGTERM');
    this.#timer = setTimeout(() => this.kill(cause), this.#graceMs);
  }

  kill(cause: StopCause | null): void {
    if (this.#over) return;
    this.cause ??= cause;
    if (cause === 'processes') killTree(this.#group);
    signal(-this.#group, 'SIGKILL');
  }

  over(): void {
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
