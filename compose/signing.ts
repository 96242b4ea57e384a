import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { SigningKeys } from '../security/api.ts';
import { createSigningKeys } from '../security/keys/open-keys.ts';
import { createPublishedKeys, type PublishedKeys } from '../security/keys/published-keys.ts';

/** What tokens of nodes, agents and executions and heads of audit chains are signed and verified with. */
export interface Signing {
  readonly keys: SigningKeys;
  readonly published: PublishedKeys;
}

interface SigningWorld {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly documents: Documents;
  readonly resolve: (reference: string) => Promise<string>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

/** Keys are made, or looked for, when something is first signed: most nodes on one machine never do. */
export function openSigning({ settings, dataDir, documents, resolve, clock, warn }: SigningWorld): Signing {
  const keys = createSigningKeys(settings.signing, { dataDir, resolve, clock, warn });
  return { keys: openedAtFirstUse(keys), published: createPublishedKeys({ documents, clock }) };
}

function openedAtFirstUse(keys: SigningKeys): SigningKeys {
  let opening: Promise<void> | null = null;
  const open = (): Promise<void> => {
    opening ??= keys.open().catch((error: unknown) => {
      // Tried again at the next use: a store of keys that was away may be back.
      opening = null;
      throw error;
    });
    return opening;
  };
  return {
    open,
    sign: async (data) => {
      await open();
      return keys.sign(data);
    },
    publicKeys: async () => {
      await open();
      return keys.publicKeys();
    },
    rotate: async () => {
      await open();
      await keys.rotate();
    },
    close: () => keys.close(),
  };
}
