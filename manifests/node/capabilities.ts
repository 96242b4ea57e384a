import type { AgentManifest } from '../agent/schema.ts';
import { tag } from './cluster.ts';
import { type ManagedProvider, providersOf } from './managed-providers.ts';
import type { NodeSettings } from './settings.ts';

/** Maximum number of capabilities that a node announces. */
const MOST = 200;

const ENGINE = 'engine:docker';

/**
 * The capabilities of a node beside its tags, as tags: `model:ALIAS`, `mcp:SERVER`, `engine:docker`. Aliases that cannot be
 * tags are omitted; the needs of agents omit them too.
 */
export function capabilitiesOf(
  { llm_providers, mcp_servers }: NodeSettings,
  hasEngine: boolean,
  managed: readonly ManagedProvider[] = [],
): readonly string[] {
  const aliases = providersOf(llm_providers, managed)
    .filter(({ enabled }) => enabled)
    .flatMap(({ models }) => models.map(({ alias }) => alias));
  // Without a model of that alias, `default` is the first one.
  const models = aliases.length === 0 ? [] : ['default', ...aliases];
  const servers = mcp_servers.filter(({ enabled }) => enabled).map(({ name }) => `mcp:${name}`);
  const all = [...(hasEngine ? [ENGINE] : []), ...servers, ...models.map((alias) => `model:${alias}`)];
  return [...new Set(all)].filter(isTag).slice(0, MOST);
}

/** The aliases of models among capabilities. */
export const aliasesIn = (capabilities: readonly string[]): readonly string[] =>
  capabilities.flatMap((one) => (one.startsWith('model:') ? [one.slice('model:'.length)] : []));

/** The capabilities that an agent needs of its node, as the same tags. */
export function needsOf({ spec: { runtime, tools } }: AgentManifest): readonly string[] {
  const servers = tools.flatMap((tool) => {
    const name = typeof tool === 'string' ? tool : (tool.server ?? '');
    // `mcp:filesystem` and `mcp:web-search` are earlier names of built-in tools.
    return name.startsWith('mcp:') && !BUILT_IN.has(name) ? [name] : [];
  });
  const engine = runtime.isolation === 'docker' ? [ENGINE] : [];
  return [...new Set([`model:${runtime.model}`, ...servers, ...engine])].filter(isTag);
}

const BUILT_IN: ReadonlySet<string> = new Set(['mcp:filesystem', 'mcp:web-search']);

const isTag = (text: string): boolean => tag.safeParse(text).success;
