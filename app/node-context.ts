import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Logger, pino } from 'pino';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { configFile, readSettings } from '../read-settings.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import { makeDataDirectory, unusableDirectory } from '../runtime/kit/data-directory.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import type { Secrets } from '../security/api.ts';
import { createFileSecrets } from '../security/file-secrets.ts';
import { standardErrorLog, textLines } from './log/log-output.ts';
import type { NodeInput } from './node.ts';

/** Shared parts of the process: settings, directories, secrets, log, clock. */
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

/**
 * Creates the node's data directory, readable for its user only, and returns the node id that is kept in it. With this
 * id a node takes its own partitions back after a restart (P2). Throws `invalid_config` saying why the directory cannot
 * be used.
 */
async function openDataDirectory(path: string): Promise<{ readonly nodeId: string }> {
  try {
    await makeDataDirectory(path);
    return { nodeId: await nodeIdIn(path) };
  } catch (cause) {
    throw unusableDirectory(path, cause, 'choose another with --data');
  }
}

async function nodeIdIn(directory: string): Promise<string> {
  const file = join(directory, 'node-id');
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (kept !== null) return kept.trim();
  const id = randomUUID();
  // Writes the id in one step: a node that is killed here must not find an empty id at its next start.
  const draft = `${file}.${id}`;
  await writeFile(draft, `${id}\n`, { mode: 0o600, flush: true });
  await rename(draft, file);
  return id;
}
