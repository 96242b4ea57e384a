import type { ToolContract, Touches } from '../../manifests/tool/contract.ts';
import type { ToolOffer } from '../../manifests/tool/scope.ts';

const PATHS = new Set(['path', 'paths', 'file', 'file_path', 'filepath', 'directory', 'dir', 'source', 'destination']);
const URLS = new Set(['url', 'urls', 'uri']);
const DOMAINS = new Set(['domain', 'domains', 'host', 'hostname']);

/**
 * What a call touches. A built-in tool says so itself; of a tool of an MCP server only the names of its arguments tell, so
 * constraints of paths and domains on such a tool bind the usual names and no others.
 */
export function touchesOf(
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
