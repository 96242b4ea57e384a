import type { ToolContract, Touches } from '../../manifests/tool/contract.ts';
import type { DenialReason, ToolDecision, ToolPolicy } from '../../manifests/tool/decision.ts';
import type { Capability, CommandCeilings, ToolGrant, ToolOffer, ToolScope } from '../../manifests/tool/scope.ts';
import { isTier } from './built-in.ts';
import { checkArguments, permissionOf } from './constraints.ts';
import { domainBreach, entryDomainBreach } from './domains.ts';
import { CMD_RUN, capabilitiesFor, denied, entriesFor, limitsOf, type NamedTool } from './matching.ts';

interface ToolPolicyParts {
  /** Built-in tools by name; may contain aliases too. */
  readonly contracts: ReadonlyMap<string, ToolContract>;
  /** For grants without ceilings of their own. */
  readonly ceilings: CommandCeilings;
}

type Arguments = Extract<ToolDecision, { allowed: true }>['arguments'];

/**
 * Decides about calls (S4, H14): first the deny list, then whether the tool is offered, then its arguments, then the
 * capabilities in order. The first capability whose constraints all hold allows the call.
 */
export function createToolPolicy({ contracts, ceilings }: ToolPolicyParts): ToolPolicy {
  const names = new Map([...contracts.values()].flatMap((contract) => namesOf(contract)));
  return {
    decide(grant, call) {
      const name = names.get(call.name) ?? call.name;
      const deny = denial(name);
      if (denied(grant, [call.name, name])) return deny('ToolExplicitlyDenied', 'the deny list names it');
      const offer = grant.tools.find((tool) => tool.name === name);
      const capabilities = capabilitiesFor(grant, name);
      const entries = offer === undefined ? [] : entriesFor(grant, offer, serverOf(grant, grant.tools));
      if (offer === undefined || capabilities.length === 0 || entries?.length === 0) {
        return deny('ToolNotAllowed', `it is not offered under ${grant.security_context} and this manifest`);
      }
      const contract = offer.source === 'builtin' ? (contracts.get(name) ?? null) : null;
      // A node of another version offered it, so its arguments are unknown here.
      if (offer.source === 'builtin' && contract === null) return deny('ToolChanged', 'it is not known here', offer);
      const offered = { grant, offer, capabilities, entries, contract, ceilings: grant.ceilings ?? ceilings };
      return decideOffered(offered, call.arguments);
    },
  };
}

const namesOf = ({ name, aliases = [] }: ToolContract): [string, string][] =>
  [name, ...aliases].map((one) => [one, name]);

/** Finds a server that was configured when the grant was made, whether or not it is running. */
const serverOf =
  ({ mcp_servers = [] }: ToolScope, tools: readonly ToolOffer[] = []) =>
  (name: string): boolean =>
    mcp_servers.includes(name) || tools.some(({ server }) => server === name);

interface Offered {
  readonly grant: ToolGrant;
  readonly offer: ToolOffer;
  readonly capabilities: readonly Capability[];
  readonly entries: ReturnType<typeof entriesFor>;
  readonly contract: ToolContract | null;
  readonly ceilings: CommandCeilings;
}

function decideOffered(
  { grant, offer, capabilities, entries, contract, ceilings }: Offered,
  given: unknown,
): ToolDecision {
  const deny = denial(offer.name);
  const checked = checkArguments(forTier(given, grant, offer), offer, contract);
  if (!checked.ok) return deny('InvalidArguments', checked.message, offer, checked.field);
  const touches = touchesOf(checked.input, checked.arguments, offer, contract);
  const permission = permissionOf({ scope: grant, capabilities, entries, touches, contract });
  if (!permission.ok) {
    const { reason, message, field } = permission.breach;
    return deny(reason, message, offer, field);
  }
  const { capability, entry } = permission;
  return {
    allowed: true,
    offer,
    arguments: narrowed(checked.arguments, entry?.config.max_results_per_query),
    limits: limitsOf(grant.security_context, capability, entry, offer.name === CMD_RUN ? ceilings : null),
  };
}

/** Removes the arguments by which callers of a tier would overwrite or pin a version (W33). */
function forTier(given: unknown, { security_context }: ToolScope, { name }: ToolOffer): unknown {
  const isDropped = isTier(security_context) && name.startsWith('svc.');
  if (!isDropped || typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  return Object.fromEntries(Object.entries(given).filter(([key]) => key !== 'force' && key !== 'version'));
}

/** Lowers the number of requested results to `max_results_per_query` of the manifest. */
function narrowed(args: Arguments, most: unknown): Arguments {
  const { max_results } = args;
  if (typeof most !== 'number' || typeof max_results !== 'number') return args;
  return { ...args, max_results: Math.min(max_results, most) };
}

const denial =
  (tool: string) =>
  (reason: DenialReason, message: string, offer?: ToolOffer, field?: string): ToolDecision => ({
    allowed: false,
    reason,
    message: `${tool.slice(0, 200)}: ${message}`,
    ...(offer === undefined ? {} : { offer }),
    ...(field === undefined ? {} : { field }),
  });

/**
 * Why an allowed tool may not reach a host, or null. Called again for each redirect. `domain` is the host of a URL; an IPv6
 * address may be in brackets.
 */
export function domainProblem(scope: ToolScope, tool: NamedTool['name'], domain: string): string | null {
  const domains = [{ field: 'url', domain }];
  const entries = entriesFor(scope, { name: tool, source: 'builtin' }, serverOf(scope));
  const byEntries = (entries ?? []).map((entry) => entryDomainBreach(domains, entry));
  const byCapabilities = capabilitiesFor(scope, tool).map((capability) => domainBreach(domains, scope, capability));
  for (const breaches of entries === null ? [byCapabilities] : [byCapabilities, byEntries]) {
    if (!breaches.includes(null)) return breaches[0]?.message ?? `url: ${tool} is not allowed`;
  }
  return null;
}

const PATHS = new Set(['path', 'paths', 'file', 'file_path', 'filepath', 'directory', 'dir', 'source', 'destination']);

const URLS = new Set(['url', 'urls', 'uri']);

const DOMAINS = new Set(['domain', 'domains', 'host', 'hostname']);

/**
 * The paths, domains and commands of a call. The contract of a built-in tool names them. For a tool of an MCP server they are
 * guessed from common argument names, so constraints apply to these names only.
 */
function touchesOf(
  input: unknown,
  args: Readonly<Record<string, unknown>>,
  { reads }: ToolOffer,
  contract: ToolContract | null,
): Touches {
  if (contract !== null) return contract.touches?.(input) ?? {};
  const named = (names: ReadonlySet<string>): { field: string; text: string }[] =>
    Object.entries(args).flatMap(([field, value]) =>
      names.has(field.toLowerCase()) ? textsOf(value).map((text) => ({ field, text })) : [],
    );
  return {
    paths: named(PATHS).map(({ field, text }) => ({ field, path: text, access: reads ? 'read' : 'write' })),
    domains: [
      ...named(DOMAINS).map(({ field, text }) => ({ field, domain: text })),
      ...named(URLS).map(({ field, text }) => ({ field, domain: URL.parse(text)?.hostname ?? '' })),
    ],
  };
}

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((item): item is string => typeof item === 'string');
