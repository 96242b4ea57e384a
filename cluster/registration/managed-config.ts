import { createHash, timingSafeEqual } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  MANAGED_CONFIG_BYTES,
  type ManagedNodeConfig,
  parseManagedConfig,
  versionOf,
} from '../../manifests/node/managed.ts';
import type { Problem } from '../../manifests/schema-problems.ts';
import type { SyncConfigResponse } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { invalidField, SvcError, toSvcError } from '../../runtime/errors.ts';
import { OneAtATime } from '../../runtime/kit/queues.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';

type Log = (fields: Readonly<Record<string, unknown>>, message: string) => void;

/** Log of events between a node and its controllers. It never contains tokens, nonces or signatures. */
export interface RegistrationLog {
  readonly info: Log;
  readonly warn: Log;
  readonly error: Log;
}

type LogLevel = NonNullable<ManagedNodeConfig['spec']['observability']>['logging']['level'];

type Providers = NonNullable<ManagedNodeConfig['spec']['llm_providers']>;

type Isolation = NonNullable<ManagedNodeConfig['spec']['runtime']>['default_isolation'];

interface ManagedConfigParts {
  readonly nodeId: string;
  /** File in the data directory with the text in force. */
  readonly path: string;
  /**
   * Setters of the settings that can be changed at run time. Null restores the node's own setting. A setter that fails throws
   * an SvcError before it changes anything; the message becomes the reason of the rejection.
   */
  readonly setTags: (tags: readonly string[] | null) => void | Promise<void>;
  readonly setLogLevel: (level: LogLevel | null) => void | Promise<void>;
  readonly setDefaultIsolation: (isolation: Isolation | null) => void | Promise<void>;
  /** Providers of models beside the node's own. */
  readonly setProviders: (providers: Providers) => void | Promise<void>;
  readonly warn: (message: string, error: unknown) => void;
}

/** The sections of this node's configuration that controllers manage (G30). */
export interface ManagedConfig {
  /**
   * Applies the text that was in force before the restart. Never throws: a text that is no longer valid is logged and skipped.
   */
  restore(): Promise<void>;
  /**
   * Applies a text as a whole or not at all; applying the current text again changes nothing. Rejects a version that is not
   * higher than the current one, also after a restart, and a text without a version (0) once there was one. The text is on disk
   * when the call returns. Throws `unavailable` when it cannot be stored; the previous text then stays in force.
   */
  apply(yaml: string): Promise<ConfigVerdict>;
  /** Hash of the text in force; null when there is none. */
  hash(): string | null;
}

const tooOld = (version: number, inForce: number): ConfigVerdict => ({
  accepted: false,
  reason: `version: expected more than ${inForce}, which is in force, got ${version === 0 ? 'none' : version}; set the configuration again`,
});

const NOTHING: ManagedNodeConfig['spec'] = {};

const MAX_PROBLEMS_SHOWN = 5;

export function createManagedConfig(parts: ManagedConfigParts): ManagedConfig {
  let inForce = NOTHING;
  let hash: string | null = null;
  let versionInForce = 0;
  /** SyncConfig and PushConfig may arrive at the same time and are executed in turn. */
  const changes = new OneAtATime();

  const putInForce = async (yaml: string, keep: boolean): Promise<ConfigVerdict> => {
    const newHash = configHash(yaml);
    if (newHash === hash) return { accepted: true };
    const version = versionOf(yaml);
    if (version < versionInForce || (version === versionInForce && version > 0)) return tooOld(version, versionInForce);
    const parsed = parseManagedConfig(yaml);
    if (!parsed.ok) return { accepted: false, reason: reasonOf(parsed.problems) };
    const { spec } = parsed.config;
    const refused = await switchTo(parts, spec, inForce);
    if (refused !== null) return { accepted: false, reason: refused.message };
    try {
      if (keep) await writeCachedConfig(parts.path, yaml);
    } catch (thrown) {
      await takeBack(parts, inForce);
      throw thrown;
    }
    inForce = spec;
    hash = newHash;
    versionInForce = version;
    return { accepted: true };
  };

  return {
    apply(yaml) {
      return changes.run(() => putInForce(yaml, true));
    },
    async restore() {
      try {
        const yaml = await readCachedConfig(parts.path);
        const verdict: ConfigVerdict = yaml === null ? { accepted: true } : await putInForce(yaml, false);
        if (!verdict.accepted)
          parts.warn('the stored managed configuration is no longer valid and is ignored', new Error(verdict.reason));
      } catch (error) {
        parts.warn('the stored managed configuration cannot be read and is ignored', error);
      }
    },
    hash: () => hash,
  };
}

/** Calls all setters. When one fails, restores all previous values and returns the error; otherwise returns null. */
async function switchTo(
  parts: ManagedConfigParts,
  to: ManagedNodeConfig['spec'],
  from: ManagedNodeConfig['spec'],
): Promise<SvcError | null> {
  try {
    for (const set of settersOf(parts, to)) await set();
    return null;
  } catch (thrown) {
    await takeBack(parts, from);
    const error = toSvcError(thrown);
    if (error.row.kind === 'bug')
      parts.warn('a managed setting could not be applied; the previous configuration stays in force', thrown);
    return error;
  }
}

async function takeBack(parts: ManagedConfigParts, to: ManagedNodeConfig['spec']): Promise<void> {
  for (const set of settersOf(parts, to)) {
    try {
      await set();
    } catch (error) {
      parts.warn('a managed setting could not be restored to its previous value', error);
    }
  }
}

function settersOf(parts: ManagedConfigParts, spec: ManagedNodeConfig['spec']): (() => void | Promise<void>)[] {
  const nodes = spec.nodes ?? {};
  const own = Object.hasOwn(nodes, parts.nodeId) ? nodes[parts.nodeId] : undefined;
  return [
    () => parts.setDefaultIsolation(spec.runtime?.default_isolation ?? null),
    () => parts.setProviders(spec.llm_providers ?? []),
    () => parts.setTags(own?.tags ?? null),
    () => parts.setLogLevel(spec.observability?.logging.level ?? null),
  ];
}

function reasonOf(problems: readonly Problem[]): string {
  const shown = problems
    .slice(0, MAX_PROBLEMS_SHOWN)
    .map(({ path, line, message }) => `${path === '' ? 'the document' : path} (line ${line}): ${message}`);
  const more = problems.length - shown.length;
  return more > 0 ? `${shown.join('; ')}; and ${more} more` : shown.join('; ');
}

/** The text of the file; null when it does not exist. */
async function readCachedConfig(path: string): Promise<string | null> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > MANAGED_CONFIG_BYTES) throw new Error(`larger than ${MANAGED_CONFIG_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Replaces the file atomically: after a crash it contains the old or the new text. Throws `unavailable`. */
async function writeCachedConfig(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await rename(draft, path);
    await syncDirectory(dirname(path));
  } catch (cause) {
    // Only the cause is reported; the next write overwrites a leftover draft.
    await rm(draft, { force: true }).catch(() => undefined);
    const code = systemCode(cause);
    throw new SvcError('unavailable', `the configuration cannot be written to the data directory (${code})`, { cause });
  }
}

/** Makes the rename durable; otherwise a power failure could undo it. */
async function syncDirectory(path: string): Promise<void> {
  let directory: FileHandle | undefined;
  try {
    directory = await open(path, 'r');
    await directory.sync();
  } finally {
    await directory?.close();
  }
}

/** Result of applying a configuration (G30). */
export type ConfigVerdict = { readonly accepted: true } | { readonly accepted: false; readonly reason: string };

/** Lower-case hex of the SHA-256 of a configuration's UTF-8 text. */
export const configHash = (yaml: string): string => createHash('sha256').update(yaml, 'utf8').digest('hex');

/** Throws `invalid_argument` when the hash is not that of the configuration's text. */
function checkConfigHash(yaml: string, hash: string): void {
  const expected = Buffer.from(configHash(yaml));
  const given = Buffer.from(hash);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw invalidField('config_hash', 'expected the SHA-256 of config_yaml in lower-case hex');
  }
}

/**
 * Fetches the managed configuration and applies it. Throws when it cannot be fetched, is corrupt or cannot be stored, all of
 * which are retried. A rejected text is logged and not retried.
 */
export async function syncConfig(
  fetch: () => Promise<SyncConfigResponse>,
  apply: (yaml: string) => Promise<ConfigVerdict>,
  log: RegistrationLog,
): Promise<void> {
  const { config_yaml: yaml, config_hash: hash } = await fetch();
  // Controllers without a managed configuration may also leave the hash empty.
  if (yaml !== '' || hash !== '') checkConfigHash(yaml, hash);
  const verdict = await apply(yaml);
  if (verdict.accepted) log.info({ config: hash }, 'configuration of the controllers is in force');
  else log.error({ config: hash, reason: verdict.reason }, 'configuration of the controllers was rejected');
}
