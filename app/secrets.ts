import { join, resolve } from 'node:path';
import { APPROVALS } from '../actors/approval/view.ts';
import { EXECUTIONS } from '../actors/execution/view.ts';
import { STIMULI } from '../actors/stimulus/view.ts';
import { TOOL_SESSIONS } from '../actors/tool-session/view.ts';
import { WORKFLOW_EXECUTIONS } from '../actors/workflow/view.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Documents } from '../runtime/documents.ts';
import { plainFields } from '../runtime/encryption/encrypted-documents.ts';
import type { PayloadKeys } from '../runtime/encryption/payload-keys.ts';
import { SvcError } from '../runtime/errors.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import { counted } from '../runtime/kit/counted.ts';
import type { PayloadEncryption } from '../runtime/open-stores.ts';
import type { SecretKeys, SecretStore, Secrets } from '../security/api.ts';
import { addKeyVersion, FileKeySource } from '../security/encryption/file-key-source.ts';
import { KeyRing } from '../security/encryption/key-ring.ts';
import type { KeySource } from '../security/encryption/key-source.ts';
import { hasPayloadKeys, payloadKeyUses, StoredPayloadKeys } from '../security/encryption/payload-keys.ts';
import { VaultKeySource } from '../security/encryption/vault-key-source.ts';
import { DocumentSecrets } from '../security/secret-store/document-secret-store.ts';
import { createFileSecretStore } from '../security/secret-store/file-secret-store.ts';
import { moveSecretFiles } from '../security/secret-store/move-secret-files.ts';
import { SecretKeyRotation } from '../security/secret-store/rewrapping.ts';
import { SecretDocuments } from '../security/secret-store/secret-documents.ts';
import type { NodeInput } from './node.ts';
import type { NodeContext } from './node-context.ts';

/** The secrets of tenants, once the stores are open. */
export interface OpenSecrets {
  readonly secrets: Secrets;
  readonly secretStore: SecretStore;
  readonly secretKeys: SecretKeys;
  /** The keys of encrypted payloads; null: there are none. */
  readonly payloadKeys: PayloadKeys | null;
  /** Lines for the start-up log. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/**
 * Opens the secrets in the store, and moves those in files of this node there. A fleet without `spec.secrets.keys` has no key that
 * all nodes share: its secrets stay files of each node.
 */
async function openSecrets(
  context: NodeContext,
  documents: Documents,
  given: NodeInput['secretKeys'],
): Promise<OpenSecrets> {
  const { settings, dataDir, clock, warn, logger, secrets: files } = context;
  const directory = join(dataDir, 'secrets');
  const audit = (event: Readonly<Record<string, string | number | null>>, message: string): void =>
    logger.info(event, message);
  const source = given ?? keySourceOf(context);
  if (source === null) {
    if (await hasPayloadKeys(documents)) throw new SvcError('invalid_config', `spec.secrets.keys: ${NEEDED}`);
    const secretStore = createFileSecretStore({ directory, clock, audit });
    const note = `secrets are plain files of this node in ${directory}: set spec.secrets.keys to encrypt and share them`;
    return {
      secrets: files,
      secretStore,
      secretKeys: NO_KEYS,
      payloadKeys: null,
      notes: [note],
      close: async () => {},
    };
  }
  const stored = await SecretDocuments.open(documents, () => clock.now());
  const isAlone = settings.stores.redis === undefined;
  const ring = await KeyRing.open({
    node: context.node,
    isAlone,
    documents,
    source,
    clock,
    warn,
    uses: async (version) => (await stored.usesOf(version)) + (await payloadKeyUses(documents, version)),
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
  const { tenants } = settings.encryption.payloads;
  const payloadKeys = await StoredPayloadKeys.open(documents, {
    ring,
    tenants,
    clock,
    refreshMs: refresh_secs * 1_000,
    warn,
  });
  const secretKeys = new SecretKeyRotation({ secrets: stored, payloadKeys, ring, clock, warn, audit });
  secretKeys.start();
  return {
    secrets: secretStore,
    secretStore,
    secretKeys,
    // Nodes of a fleet must be able to read texts that others encrypt from now on.
    payloadKeys: payloadKeys.encryptsAny || !isAlone || (await hasPayloadKeys(documents)) ? payloadKeys : null,
    notes:
      moved === null || moved === 0
        ? []
        : [`${counted(moved, 'secret in a file was', 'secrets in files were')} moved to the store, encrypted`],
    async close() {
      await secretKeys.close();
      await source.close();
    },
  };
}

const NEEDED = 'required, because the store has encrypted payloads: give every node the same keys';

const withoutKeys = async (): Promise<never> => {
  const why = 'spec.secrets.keys is not set: the secrets of this fleet are plain files of each node';
  throw new SvcError('failed_precondition', why);
};

/** The key source of a fleet without one. */
const NO_KEYS: SecretKeys = { view: withoutKeys, rotate: withoutKeys };

/** The key source of the settings; null for a fleet without one. */
function keySourceOf({ settings, dataDir, resolveSecret, clock }: NodeContext): KeySource | null {
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

/** The context with secrets from the store. */
export const withSecrets = (context: NodeContext, secrets: Secrets): NodeContext => ({
  ...context,
  secrets,
  resolveSecret: (reference) => secrets.resolve(SYSTEM_TENANT, reference),
});

/** Adds a version to a key file of a fleet, or creates the file. */
export const addSecretKey = (path: string): Promise<number> => addKeyVersion(resolve(path), Date.now());

/**
 * The fields by which lists of actors are searched and which stay in plain text (docs/operations/payload-encryption.md). The
 * projector opens these collections with their indexes only; those of other collections are the fields of their indexes.
 */
const SEARCHED = new Map(
  [EXECUTIONS, WORKFLOW_EXECUTIONS, APPROVALS, TOOL_SESSIONS, STIMULI].map((spec) => [spec.name, plainFields(spec)]),
);

/** The encryption of payloads, and the secrets, whose keys it shares and which are opened together with it. */
export function payloadEncryption(
  context: NodeContext,
  given: NodeInput['secretKeys'],
): PayloadEncryption & { opened(): OpenSecrets } {
  let secrets: OpenSecrets | null = null;
  return {
    searchFields: (collection) => SEARCHED.get(collection) ?? [],
    async open(documents) {
      secrets = await openSecrets(context, documents, given);
      return secrets.payloadKeys;
    },
    close: async () => secrets?.close(),
    opened() {
      if (secrets === null) throw new Error('the stores are not open');
      return secrets;
    },
  };
}
