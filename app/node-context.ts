import { randomUUID } from 'node:crypto';
import { access, constants, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Logger, pino } from 'pino';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { configFile, readSettings } from '../read-settings.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import { systemCode } from '../runtime/kit/system-code.ts';
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
    await makeDirectory(path);
    await access(path, constants.W_OK);
    return { nodeId: await nodeIdIn(path) };
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    const code = systemCode(cause, 'unreadable');
    const why = REASONS[code] ?? 'it cannot be used';
    throw new SvcError('invalid_config', `the data directory ${path}: ${why} (${code}); choose another with --data`, {
      cause,
    });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's disk quota is used up",
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'there is a file of that name',
  ENOENT: 'it cannot be created there',
};

/**
 * Creates one level after the other: `mkdir` with `recursive` retries for ever where a file system has no directories
 * (/proc).
 */
async function makeDirectory(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await isThere(at)); at = dirname(at)) missing.push(at);
  for (const directory of missing.reverse()) {
    try {
      await mkdir(directory, { mode: 0o700 });
    } catch (error) {
      // Another process of the same user may create it at the same time.
      if (!(await isDirectory(directory))) throw error;
    }
  }
  if (!(await isDirectory(path))) throw Object.assign(new Error('not a directory'), { code: 'EEXIST' });
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' && dirname(path) !== path) return false;
    throw error;
  }
}

const isDirectory = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() ?? false;
};

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
