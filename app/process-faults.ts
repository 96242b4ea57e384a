import type { Logger } from 'pino';
import { SvcError } from '../runtime/errors.ts';

/**
 * Time until the process ends in any case, ms. Longer than an orderly stop takes
 * (docs/operations/operating-a-cluster.md).
 */
const END_WITHIN_MS = 28_000;
const MOST_FRAMES = 20;
const MOST_CAUSES = 5;
/** Most log lines about faults: a repeated fault must not fill the log. */
const MOST_LINES = 20;

interface FaultParts {
  readonly logger: Pick<Logger, 'fatal'>;
  /** Hands the partitions over and releases everything; null while there is nothing to stop yet. */
  readonly stop: () => Promise<void> | null;
  /** Writes the rest of the log and ends the process. */
  readonly exit: (code: number) => void;
}

interface ProcessFaults {
  /** Whether a fault happened. The process then ends with an exit code other than 0. */
  readonly came: boolean;
}

/**
 * Stops the node after an exception or a rejection that no code handles: such a fault is a bug and leaves the process
 * in an unknown state. Logs it, hands the partitions over and ends with exit code 1, so that a supervisor starts the
 * node again.
 */
export function endOnFaults({ logger, stop, exit }: FaultParts): ProcessFaults {
  const faults = { came: false };
  let lines = 0;
  const onFault = (fault: string, thrown: unknown): void => {
    lines += 1;
    if (lines <= MOST_LINES) {
      const text = 'an error was not handled: the node hands its partitions over and ends';
      logger.fatal({ fault, error: faultFields(thrown) }, text);
    }
    if (faults.came) return;
    faults.came = true;
    process.exitCode = 1;
    setTimeout(() => exit(1), END_WITHIN_MS);
    const stopped = stop();
    const failed = (error: unknown): void => {
      logger.fatal({ fault: 'stop', error: faultFields(error) }, 'the node did not stop cleanly');
    };
    (stopped ?? Promise.resolve()).catch(failed).then(() => exit(1), failed);
  };
  process.on('uncaughtException', (error) => onFault('uncaughtException', error));
  process.on('unhandledRejection', (reason) => onFault('unhandledRejection', reason));
  return faults;
}

/**
 * The log fields for any thrown value: its class, its code and its stack position. Drops the text of errors of other
 * libraries, since it may contain data: an address with a password, a header, a command.
 */
export function faultFields(thrown: unknown, depth = 0): Readonly<Record<string, unknown>> {
  if (!(thrown instanceof Error)) return { type: thrown === null ? 'null' : typeof thrown };
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    type: thrown.constructor.name,
    ...('code' in thrown && typeof thrown.code === 'string' ? { code: thrown.code } : {}),
    ...('syscall' in thrown && typeof thrown.syscall === 'string' ? { syscall: thrown.syscall } : {}),
    ...(thrown instanceof SvcError ? { message: thrown.message } : {}),
    stack: frames.slice(0, MOST_FRAMES).map((line) => line.trim()),
    ...(thrown.cause === undefined || depth >= MOST_CAUSES ? {} : { cause: faultFields(thrown.cause, depth + 1) }),
  };
}
