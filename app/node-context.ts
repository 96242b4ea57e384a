import { join, resolve } from 'node:path';
import { type Logger, pino } from 'pino';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { configFile, readSettings } from '../read-settings.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import type { Secrets } from '../security/api.ts';
import { createFileSecrets } from '../security/file-secrets.ts';
import { openDataDirectory } from './data-directory.ts';
import { standardErrorLog, textLines } from './log/log-output.ts';
import type { NodeInput } from './node.ts';

/** What every part of the process may use: settings, directories, secrets, log, clock. */
export interface NodeContext {
  readonly settings: NodeSettings;
  readonly env: NodeInput['env'];
  /** The file that the settings were read from; null: there is none. */
  readonly configPath: string | null;
  /** Id of this node. */
  readonly node: string;
  readonly dataDir: string;
  /** Directory of the workspaces of programs and commands. */
  readonly workspaces: string;
  readonly secrets: Secrets;
  /** Resolves a reference in the settings to the node's own secret. */
  readonly resolveSecret: (reference: string) => Promise<string>;
  readonly logger: Logger;
  readonly warn: (message: string, error: unknown) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/** Reads the settings and opens the data directory. Throws `invalid_config`. */
export async function openNodeContext(input: NodeInput): Promise<NodeContext> {
  const settings = await readSettings(input);
  const dataDir = resolve(settings.stores.data_dir);
  const { nodeId } = await openDataDirectory(dataDir);
  const node = settings.node.id ?? nodeId;
  const { level, format } = settings.observability.logging;
  const output = standardErrorLog();
  const logger = input.logger ?? pino({ level, base: { node } }, format === 'text' ? textLines(output) : output);
  const secrets = createFileSecrets({ directory: join(dataDir, 'secrets'), environment: input.env });
  return {
    settings,
    env: input.env,
    configPath: configFile(input),
    node,
    dataDir,
    workspaces: join(dataDir, 'workspaces'),
    secrets,
    resolveSecret: (reference) => secrets.resolve(SYSTEM_TENANT, reference),
    logger,
    warn: (message, error) => logger.warn({ err: error }, message),
    clock: systemClock,
    random: systemRandom,
  };
}
