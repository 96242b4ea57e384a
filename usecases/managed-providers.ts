import { isDeepStrictEqual } from 'node:util';
import { yaml } from '../manifests/late-libraries.ts';
import { API_VERSION } from '../manifests/metadata.ts';
import { parseManagedConfig } from '../manifests/node/managed.ts';
import type { ManagedProvider } from '../manifests/node/managed-providers.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { NodePeerApi } from './node-api.ts';
import type { PushAnswer } from './ports/cluster.ts';

type Providers = readonly ManagedProvider[];

/** The providers of models for all nodes, and the version of the configuration that has them. */
interface VersionedProviders {
  readonly providers: Providers;
  readonly version: number;
}

interface ChangedProviders extends VersionedProviders {
  /** The answers of the registered nodes, which get it at once; a node that cannot be reached fetches it later. */
  readonly nodes: readonly PushAnswer[];
}

/** Providers of models in the configuration that controllers manage for all nodes (G30). */
export interface ManagedProvidersApi {
  list(): Promise<VersionedProviders>;
  /**
   * Replaces the list by the result of `change`, and sends it to the nodes. Throws `failed_precondition` on a node without the
   * cluster protocol, `validation_failed` for a list that breaks a rule, and the errors of `change`.
   */
  change(change: (providers: Providers) => Providers, by: Identity): Promise<ChangedProviders>;
}

/** Attempts when others change the configuration at the same time; more than two operators at once are rare. */
const MOST_TRIES = 5;

const EMPTY = `apiVersion: ${API_VERSION}\nkind: ManagedConfig\nspec: {}\n`;

const NOT_MANAGED =
  'spec.cluster.enabled is false on this node, so it follows no controller: enable it, or set spec.llm_providers in its file';

export function createManagedProviders(parts: {
  readonly peers: Pick<NodePeerApi, 'config' | 'setConfig'>;
  readonly push: () => Promise<readonly PushAnswer[]>;
  /** Whether this node takes part in the cluster protocol. */
  readonly isManaged: boolean;
}): ManagedProvidersApi {
  const { peers, push, isManaged } = parts;

  async function set(change: (providers: Providers) => Providers, by: Identity): Promise<VersionedProviders> {
    for (let tries = 1; ; tries += 1) {
      const { config_yaml, config_hash, version } = await peers.config();
      const before = providersIn(config_yaml);
      const providers = change(before);
      if (isDeepStrictEqual(providers, before)) return { providers, version };
      try {
        const kept = await peers.setConfig(checked(withProviders(config_yaml, providers)), by, config_hash);
        return { providers, version: kept.version };
      } catch (thrown) {
        const again = thrown instanceof SvcError && thrown.code === 'conflict' && tries < MOST_TRIES;
        if (!again) throw thrown;
      }
    }
  }

  return {
    async list() {
      const { config_yaml, version } = await peers.config();
      return { providers: providersIn(config_yaml), version };
    },
    async change(change, by) {
      if (!isManaged) throw new SvcError('failed_precondition', NOT_MANAGED);
      return { ...(await set(change, by)), nodes: await push() };
    },
  };
}

/** A stored text was checked when it was set. A text that this version refuses has no providers. */
function providersIn(text: string): Providers {
  const parsed = parseManagedConfig(text);
  return parsed.ok ? (parsed.config.spec.llm_providers ?? []) : [];
}

/** The text with these providers. The rest of it stays, comments included. */
function withProviders(text: string, providers: Providers): string {
  const document = yaml().parseDocument(text.trim() === '' ? EMPTY : text);
  const path = ['spec', 'llm_providers'];
  if (providers.length === 0) document.deleteIn(path);
  else document.setIn(path, document.createNode(providers));
  const spec = document.get('spec');
  if (yaml().isMap(spec)) spec.flow = false;
  return document.toString({ lineWidth: 0 });
}

/** Throws `validation_failed` with the rules that the text breaks. */
function checked(text: string): string {
  const parsed = parseManagedConfig(text);
  if (parsed.ok) return text;
  const [first] = parsed.problems;
  throw new SvcError('validation_failed', `${first?.path ?? 'body'}: ${first?.message ?? 'malformed'}`, {
    details: parsed.problems,
  });
}
