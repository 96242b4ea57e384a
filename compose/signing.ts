import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { FirstUse } from '../runtime/first-use.ts';
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
  // A store of keys that was away may be back at the next use.
  const opened = new FirstUse(async () => {
    await keys.open();
    return keys;
  });
  return {
    open: async () => void (await opened.get()),
    sign: async (data) => (await opened.get()).sign(data),
    publicKeys: async () => (await opened.get()).publicKeys(),
    rotate: async () => (await opened.get()).rotate(),
    close: () => keys.close(),
  };
}
