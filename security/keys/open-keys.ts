import { join } from 'node:path';
import type { z } from 'zod';
import type { NodeSigning } from '../../manifests/node/identity.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { SigningKeys } from '../signed-token.ts';
import { createFileKeys } from './file-keys.ts';
import { createVaultKeys } from './vault-keys.ts';

/** `spec.signing`, checked. */
export type SigningSettings = z.infer<typeof NodeSigning>;

interface SigningParts {
  /** Keys of backend `file` are stored in its subdirectory `signing-keys`. */
  readonly dataDir: string;
  /** Resolves a secret reference of the settings. Called at each login, so that a changed secret needs no restart. */
  readonly resolve: (reference: string) => Promise<string>;
  readonly clock: Clock;
  /** Called for failures that do not stop signing. */
  readonly warn?: (message: string, error: unknown) => void;
}

/** The adapter of `spec.signing`. Nothing is read or created before its first use. */
export function createSigningKeys(
  settings: SigningSettings,
  { dataDir, resolve, clock, warn }: SigningParts,
): SigningKeys {
  const upkeep = { rotateAfterDays: settings.rotate_after_days, clock, warn };
  if (settings.backend === 'file') return createFileKeys({ directory: join(dataDir, 'signing-keys'), ...upkeep });
  const { vault } = settings;
  if (vault === undefined) throw new SvcError('invalid_config', 'spec.signing.vault: required when backend is vault');
  const { address, namespace, mount, key, token, approle } = vault;
  const place = { address, mount, key, namespace };
  if (token !== undefined) return createVaultKeys({ ...place, ...upkeep, token: () => resolve(token) });
  if (approle === undefined)
    throw new SvcError('invalid_config', 'spec.signing.vault.token: expected either token or approle');
  const { role_id: roleId, secret_id: secretId } = approle;
  return createVaultKeys({ ...place, ...upkeep, approle: { roleId, secretId: () => resolve(secretId) } });
}
