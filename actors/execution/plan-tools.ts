import type { AgentManifest } from '../../manifests/agent/schema.ts';
import type { GrantRequest } from '../../manifests/tool/scope.ts';
import type { SecurityPolicy } from './security-policy.ts';

/** What is asked of the node's tools: the manifest's list, its network and files narrowed by the caller's policy. */
export function planGrant({ spec }: AgentManifest, policy: SecurityPolicy): GrantRequest {
  return {
    ...(spec.security_context === undefined ? {} : { security_context: spec.security_context }),
    manifest: spec.tools.map(({ name, server, executor, config }) => ({
      name,
      ...(server === undefined ? {} : { server }),
      ...(executor === undefined ? {} : { executor }),
      config,
    })),
    network: narrowNetwork(spec.security.network, policy.network_policy ?? {}),
    filesystem: narrowFiles(spec.security.filesystem, policy.filesystem_policy ?? {}),
  };
}

type Network = AgentManifest['spec']['security']['network'];
type Files = AgentManifest['spec']['security']['filesystem'];
type Lists = Readonly<Record<string, readonly string[] | undefined>>;

/** A policy never widens: allowed domains are what both allow, blocked ones come on top. */
function narrowNetwork({ mode, allowlist, denylist }: Network, policy: Lists): Network {
  const { allowed_domains: allowed = [], blocked_domains: blocked = [] } = policy;
  const deny = [...new Set([...denylist, ...blocked])];
  if (allowed.length === 0 || mode === 'none') return { mode, allowlist, denylist: deny };
  const everything = mode === 'allow' && allowlist.length === 0;
  const both = everything ? [...allowed] : intersect(allowlist, allowed, coversDomain);
  // In mode deny an empty list allows nothing.
  return { mode: 'deny', allowlist: both, denylist: deny };
}

/** An empty list leaves it to the security context, so what allows nothing needs a pattern of its own. */
const NOTHING = '/.nothing-is-allowed';

function narrowFiles({ read, write, read_only }: Files, policy: Lists): Files {
  const both = (own: string[], given: readonly string[] = []): string[] => {
    if (given.length === 0) return own;
    if (own.length === 0) return [...given];
    const narrowed = intersect(own, given, coversPath);
    return narrowed.length === 0 ? [NOTHING] : narrowed;
  };
  return { read: both(read, policy.read_paths), write: both(write, policy.write_paths), read_only };
}

/** Of each pair where one covers the other, the narrower. */
function intersect(
  own: readonly string[],
  given: readonly string[],
  covers: (wide: string, narrow: string) => boolean,
): string[] {
  const kept = own.flatMap((mine) =>
    given.flatMap((theirs) => (covers(mine, theirs) ? [theirs] : covers(theirs, mine) ? [mine] : [])),
  );
  return [...new Set(kept)];
}

/** Exact or a sub-domain at a label boundary (original-facts 4); `*.x` covers what is below x. */
function coversDomain(wide: string, narrow: string): boolean {
  const [a, b] = [wide.toLowerCase(), narrow.toLowerCase()];
  if (a === b) return true;
  const isBelow = b.endsWith(`.${a.replace(/^\*\./, '')}`);
  return isBelow && !a.includes('/') && !/^[0-9.]+$/.test(a);
}

/** `/x/**` covers `/x` and all below it (decided.md); other patterns only themselves. */
function coversPath(wide: string, narrow: string): boolean {
  if (wide === narrow || wide === '/**') return true;
  if (!wide.endsWith('/**')) return false;
  const base = wide.slice(0, -3);
  return !/[*?[{]/.test(base) && (narrow === base || narrow.startsWith(`${base}/`));
}
