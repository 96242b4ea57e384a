import { createHash, timingSafeEqual } from 'node:crypto';
import type { SyncConfigResponse } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { EnrolmentLog } from './enrolment-options.ts';

/** What became of a configuration (spec 1, PushConfigResponse). */
export type ConfigVerdict = { readonly accepted: true } | { readonly accepted: false; readonly reason: string };

/** Lower-case hex of the SHA-256 of a configuration's UTF-8 text. */
export const configHash = (yaml: string): string => createHash('sha256').update(yaml, 'utf8').digest('hex');

/** Throws `invalid_argument` when a configuration is not the text its hash was made of. */
function checkConfigHash(yaml: string, hash: string): void {
  const expected = Buffer.from(configHash(yaml));
  const given = Buffer.from(hash);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new SvcError('invalid_argument', 'config_hash: expected the SHA-256 of config_yaml in lower-case hex', {
      field: 'config_hash',
    });
  }
}

/**
 * Fetches what the controllers manage and applies it. Throws when it cannot be had, arrived damaged or could not be kept,
 * all worth another try; a text that was rejected is told in the log and is settled.
 */
export async function syncConfig(
  fetch: () => Promise<SyncConfigResponse>,
  apply: (yaml: string) => Promise<ConfigVerdict>,
  log: EnrolmentLog,
): Promise<void> {
  const { config_yaml: yaml, config_hash: hash } = await fetch();
  // Controllers that manage nothing may leave the hash empty as well.
  if (yaml !== '' || hash !== '') checkConfigHash(yaml, hash);
  const verdict = await apply(yaml);
  if (verdict.accepted) log.info({ config: hash }, 'configuration of the controllers is in force');
  else log.error({ config: hash, reason: verdict.reason }, 'configuration of the controllers was rejected');
}
