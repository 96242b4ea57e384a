import { type AgentRuntime, type AgentRuntimes, DEFAULT_RUNTIMES } from '../../manifests/node/agent-runtimes.ts';
import { SvcError } from '../../runtime/errors.ts';

/** What an agent's manifest says about its image; all empty: the node's default. */
export interface AskedRuntime {
  readonly image?: string | null | undefined;
  readonly language?: string | null | undefined;
  readonly version?: string | null | undefined;
}

export interface RuntimeSettings {
  /** `spec.runtime.containers.runtimes`. */
  readonly runtimes: AgentRuntimes;
  /** Of agents that name nothing. */
  readonly defaultImage: string;
}

/**
 * The image of an agent and what its bootstrap is told. A pair the table does not have is refused with
 * `unsupported_isolation` naming those it has: another version is never taken instead.
 */
export function runtimeOf(settings: RuntimeSettings, { image, language, version }: AskedRuntime): AgentRuntime {
  const plain = (name: string): AgentRuntime => ({ image: name, deprecated: false, env: {} });
  if (image !== undefined && image !== null) return plain(image);
  if (language === undefined || language === null) return plain(settings.defaultImage);
  const table = { ...own(DEFAULT_RUNTIMES, language), ...own(settings.runtimes, language) };
  const found = own(table, version ?? '');
  if (found !== undefined && found !== null) return found;
  const known = Object.entries(table).flatMap(([name, runtime]) => (runtime === null ? [] : [name]));
  const offer = known.length === 0 ? 'no version of it' : known.join(', ');
  throw new SvcError(
    'unsupported_isolation',
    `runtime ${language} ${version ?? '(no version)'} is not in the table of this node, which has ${offer}`,
    { field: 'spec.runtime.version' },
  );
}

const own = <T>(map: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;
