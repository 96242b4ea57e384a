import type { NodeCommand } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { RegistrationLog } from './managed-config.ts';

/** Actions of this node for the commands of an operator. */
interface CommandActions {
  /** Hands all partitions over and takes no new work. */
  readonly onDrain: () => void | Promise<void>;
  /** Stops the process cleanly. */
  readonly onShutdown: (reason: string) => void | Promise<void>;
  readonly log: RegistrationLog;
}

/** Executes the commands in the answers to heartbeats. A repeated command is executed once. */
export interface CommandHandler {
  take(commands: readonly NodeCommand[]): void;
  /** Whether a drain was commanded. */
  readonly draining: boolean;
  /** Whether the configuration must be fetched; true until `configSettled` is called. */
  readonly configWanted: boolean;
  wantConfig(): void;
  configSettled(): void;
}

const MAX_REASON_CHARS = 200;

export function createCommandHandler({ onDrain, onShutdown, log }: CommandActions): CommandHandler {
  let draining = false;
  let ending = false;
  let configWanted = false;

  /** Runs in the background, so that heartbeats continue meanwhile. */
  const act = (command: string, what: () => void | Promise<void>): void => {
    log.info({ command }, 'a controller sent a command');
    Promise.resolve()
      .then(what)
      .catch((error: unknown) => log.error({ command, err: error }, 'a command of a controller failed'));
  };

  const takeOne = ({ command }: NodeCommand): void => {
    switch (command?.$case) {
      case 'drain':
        if (!command.value.drain) {
          log.warn({ command: 'drain' }, 'a controller sent a drain command without drain: true; it is ignored');
          return;
        }
        if (!draining) act('drain', onDrain);
        draining = true;
        return;
      case 'shutdown': {
        const reason = command.value.reason.slice(0, MAX_REASON_CHARS);
        if (!ending) act('shutdown', () => onShutdown(reason));
        ending = true;
        return;
      }
      case 'sync_config':
        configWanted = true;
        return;
      default:
        log.warn({}, 'a controller sent a command that this version does not know');
    }
  };

  return {
    take(commands) {
      for (const command of commands) takeOne(command);
    },
    get draining() {
      return draining;
    },
    get configWanted() {
      return configWanted;
    },
    wantConfig() {
      configWanted = true;
    },
    configSettled() {
      configWanted = false;
    },
  };
}
