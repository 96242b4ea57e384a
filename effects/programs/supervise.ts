import { SvcError } from '../../runtime/errors.ts';
import type { GroupWatch } from './group-watch.ts';
import type { ProgramResult } from './input.ts';
import { type Launch, type LaunchedProgram, launch } from './launch.ts';
import { endRun, recordRun } from './leftovers.ts';
import { followProgram } from './program-run.ts';
import { beforeStart } from './workspace.ts';

/**
 * Something else that may end a run, such as a full volume. Started before the program; what it answers ends it and
 * throws when the run must not count.
 */
export type Guard = (end: (why: SvcError) => void) => Promise<() => Promise<void>>;

export interface Supervision {
  /** Directory in which runs are noted, so that a later life of the node ends what this one leaves. */
  readonly workspaces: string;
  /** Mark of the run; it is in the program's environment too. */
  readonly run: string;
  readonly watch: GroupWatch;
  /** Between TERM and KILL. */
  readonly killGraceMs: number;
  readonly stop: AbortSignal;
  readonly secrets?: readonly string[];
  readonly onText?: (text: string) => void;
  readonly guard?: Guard;
  /** Done once it is started, and before it is followed: what it throws ends the program. */
  readonly whenStarted?: (program: LaunchedProgram) => Promise<void>;
}

/** Runs a program from its start to the end of its last process, noted on disk all the while. */
export async function supervise(program: Launch, supervision: Supervision): Promise<ProgramResult> {
  const { workspaces, run, watch, killGraceMs, secrets = [], onText = () => {}, guard } = supervision;
  const ended = new AbortController();
  const stop = AbortSignal.any([supervision.stop, ended.signal]);
  let unguard: () => Promise<void> = async () => {};
  try {
    await beforeStart(recordRun(workspaces, run));
    unguard = (await guard?.((why) => ended.abort(why))) ?? unguard;
    stop.throwIfAborted();
    const launched = await launch(program);
    const { limits } = program;
    const recorded = recordRun(workspaces, run, launched.group).catch((cause: unknown) =>
      ended.abort(new SvcError('program_failed', 'the run of the program could not be recorded', { cause })),
    );
    supervision
      .whenStarted?.(launched)
      .catch((cause: unknown) =>
        ended.abort(cause instanceof SvcError ? cause : new SvcError('program_failed', undefined, { cause })),
      );
    try {
      // Awaited at once: an abort may reject it while the record is being written.
      return await followProgram(launched, { limits, watch, killGraceMs, stop, secrets, onText });
    } finally {
      // The record is removed next; a write that comes later would leave it behind.
      await recorded;
    }
  } finally {
    try {
      await endRun(workspaces, run);
    } finally {
      await unguard();
    }
  }
}
