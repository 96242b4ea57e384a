import { join, resolve } from 'node:path';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import type { SecretKeys, SecretStore, Secrets } from '../security/api.ts';
import { addKeyVersion, FileKeySource } from '../security/encryption/file-key-source.ts';
import { KeyRing } from '../security/encryption/key-ring.ts';
import type { KeySource } from '../security/encryption/key-source.ts';
import { VaultKeySource } from '../security/encryption/vault-key-source.ts';
import { DocumentSecrets } from '../security/secret-store/document-secret-store.ts';
import { createFileSecretStore } from '../security/secret-store/file-secret-store.ts';
import { moveSecretFiles } from '../security/secret-store/move-secret-files.ts';
import { SecretKeyRotation } from '../security/secret-store/rewrapping.ts';
import { SecretDocuments } from '../security/secret-store/secret-documents.ts';
import type { NodeInput } from './node.ts';
import type { NodeWorld } from './world.ts';

/** The secrets of tenants, once the stores are open. */
export interface OpenSecrets {
  readonly secrets: Secrets;
  readonly secretStore: SecretStore;
  readonly secretKeys: SecretKeys;
  /** Lines for the start-up log. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/**
 * Opens the secrets in the store, and moves those in files of this node there. A fleet without `spec.secrets.keys` has no key that
 * all nodes share: its secrets stay files of each node.
 */
export async function openSecrets(
  world: NodeWorld,
  documents: Documents,
  given: NodeInput['secretKeys'],
): Promise<OpenSecrets> {
  const { settings, dataDir, clock, warn, logger, secrets: files } = world;
  const directory = join(dataDir, 'secrets');
  const audit = (event: Readonly<Record<string, string | number | null>>, message: string): void =>
    logger.info(event, message);
  const source = given ?? keySourceOf(world);
  if (source === null) {
    const secretStore = createFileSecretStore({ directory, clock, audit });
    const note = `secrets are plain files of this node in ${directory}: set spec.secrets.keys to encrypt and share them`;
    return { secrets: files, secretStore, secretKeys: NO_KEYS, notes: [note], close: async () => {} };
  }
  const stored = await SecretDocuments.open(documents, () => clock.now());
  const ring = await KeyRing.open({
    node: world.node,
    isAlone: settings.stores.redis === undefined,
    documents,
    source,
    clock,
    warn,
    uses: (version) => stored.usesOf(version),
  });
  const needsFile = neededFiles(settings);
  const moved = await moveSecretFiles({ directory, secrets: stored, ring, files, needsFile, warn });
  const { refresh_secs, lease_secs } = settings.secrets;
  const secretStore = new DocumentSecrets({
    secrets: stored,
    ring,
    clock,
    files,
    needsFile,
    refreshMs: refresh_secs * 1_000,
    leaseMs: lease_secs * 1_000,
    audit,
  });
  const secretKeys = new SecretKeyRotation({ secrets: stored, ring, clock, warn, audit });
  secretKeys.start();
  return {
    secrets: secretStore,
    secretStore,
    secretKeys,
    notes: moved === null || moved === 0 ? [] : [`${moved} secrets in files were moved to the store, encrypted`],
    async close() {
      await secretKeys.close();
      await source.close();
    },
  };
}

const withoutKeys = async (): Promise<never> => {
  const why = 'spec.secrets.keys is not set: the secrets of this fleet are plain files of each node';
  throw new SvcError('failed_precondition', why);
};

/** The keys of a fleet that has none. */
const NO_KEYS: SecretKeys = { view: withoutKeys, rotate: withoutKeys };

/** The key source of the settings; null for a fleet without one. */
function keySourceOf({ settings, dataDir, resolveSecret, clock }: NodeWorld): KeySource | null {
  const { keys } = settings.secrets;
  const isFleet = settings.stores.redis !== undefined;
  if (keys === undefined && isFleet) return null;
  if (keys?.backend !== 'vault') {
    const path = keys?.file === undefined ? join(dataDir, 'secret-keys.json') : resolve(keys.file);
    return new FileKeySource({ path, isCopied: isFleet, now: () => clock.now() });
  }
  if (keys.vault === undefined) throw new SvcError('invalid_config', 'spec.secrets.keys.vault: required');
  const { token, approle, ...place } = keys.vault;
  if (token !== undefined) return new VaultKeySource({ ...place, clock, token: () => resolveSecret(token) });
  if (approle === undefined) throw new SvcError('invalid_config', 'spec.secrets.keys.vault.token: required');
  const { role_id: roleId, secret_id: secretId } = approle;
  return new VaultKeySource({ ...place, clock, approle: { roleId, secretId: () => resolveSecret(secretId) } });
}

/** Paths of `secret:PATH` references without which the store, or its keys, cannot be opened. */
function neededFiles({ stores, secrets: { keys } }: NodeSettings): ReadonlySet<string> {
  const references = [...(stores.redis ?? []), stores.mongodb, keys?.vault?.token, keys?.vault?.approle?.secret_id];
  const paths = references.flatMap((one) => (one?.startsWith('secret:') ? [one.slice('secret:'.length)] : []));
  return new Set(paths);
}

/** The world with secrets from the store. */
export const withSecrets = (world: NodeWorld, secrets: Secrets): NodeWorld => ({
  ...world,
  secrets,
  resolveSecret: (reference) => secrets.resolve(SYSTEM_TENANT, reference),
});

/** Adds a version to a key file of a fleet, or creates the file. */
export const addSecretKey = (path: string): Promise<number> => addKeyVersion(resolve(path), Date.now());
