import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { CONFIG_FILE, SETTING_SOURCES } from './manifests/node/managed.ts';
import { type NodeSettings, resolveSettings } from './manifests/node/settings.ts';
import { SvcError } from './runtime/errors.ts';
import { type RuntimeSettings, runtimeDefaults } from './runtime/runtime.ts';

type Named = Readonly<Record<string, string | undefined>>;

/**
 * Builds the node's settings from flags, environment and file. Throws `invalid_config` with every problem and its
 * place.
 */
export async function readSettings({
  flags,
  env,
}: {
  readonly flags: Named;
  readonly env: Named;
}): Promise<NodeSettings> {
  const file = configFile({ flags, env });
  const text = file === null ? null : await readFile(file).then(utf8Of).catch(unreadable(file));
  const resolved = resolveSettings({ flags, env, file: text });
  if (resolved.ok) return resolved.settings;
  const lines = resolved.problems.map(
    ({ path: at, line, message }) =>
      `  ${at === '' ? 'the document' : at}${line > 0 ? ` (line ${line})` : ''}: ${message}`,
  );
  throw new SvcError('invalid_config', `the node cannot start:\n${lines.join('\n')}`, { details: resolved.problems });
}

/** Path of the settings file: the one that a flag or variable names, else `./svc.yaml` if it exists, else null. */
export function configFile({ flags, env }: { readonly flags: Named; readonly env: Named }): string | null {
  const path = flags[CONFIG_FILE.flag] ?? env[CONFIG_FILE.env];
  return path ?? (existsSync(CONFIG_FILE.path) ? CONFIG_FILE.path : null);
}

const utf8Of = (bytes: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

const unreadable =
  (file: string) =>
  (cause: unknown): never => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    const why = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not valid UTF-8' : `cannot be read (${code})`;
    throw new SvcError('invalid_config', `the configuration file ${file} ${why}`, { cause });
  };

/** Translates `spec.kernel` for the runtime. */
export function kernelSettings({ kernel }: NodeSettings): Partial<RuntimeSettings> {
  return {
    partitions: kernel.partitions,
    tagPoolPartitions: kernel.tag_pool_partitions,
    leaseTtlMs: kernel.lease_ttl_ms,
    leaseRenewMs: kernel.lease_renew_ms,
    mailboxBound: kernel.mailbox_bound,
    passivateAfterMs: kernel.passivate_after_ms,
    cacheBytes: kernel.cache_bytes,
    effectConcurrency: kernel.effect_concurrency,
    commandClaimTtlMs: kernel.command_claim_ttl_ms,
    sharedLogs: kernel.shared_logs,
    retry: { ...runtimeDefaults.retry, maxAttempts: kernel.max_turn_attempts },
  };
}

/** Parses a node's command line; keys are long flag names without dashes. */
export function readFlags(args: readonly string[]): Record<string, string> {
  const names = [...SETTING_SOURCES.map((source) => source.flag), CONFIG_FILE.flag];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    const { values } = parseArgs({ args: [...args], options });
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const known = names.map((name) => `--${name}`).join(', ');
    throw new SvcError('invalid_config', `${cause.message.split('. ')[0]}; there are ${known}`, { cause });
  }
}
