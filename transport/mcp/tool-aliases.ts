import { hash } from 'node:crypto';

/** The names that strict clients accept. One other name makes them refuse all tools of a server. */
const MOST_CHARS = 64;
const HASH_CHARS = 8;

/** How tools are named in `tools/list` (`spec.mcp.tool_names`). */
export type ToolNaming = 'alias' | 'dotted';

/** The name of each tool for clients, by its own name: `svc_task_execute` for `svc.task.execute`. No two are equal. */
export function aliasesOf(names: readonly string[], naming: ToolNaming): ReadonlyMap<string, string> {
  if (naming === 'dotted') return new Map(names.map((name) => [name, name]));
  const plain = Map.groupBy(names, aliasOf);
  return new Map(names.map((name) => [name, plain.get(aliasOf(name))?.length === 1 ? aliasOf(name) : marked(name)]));
}

function aliasOf(name: string): string {
  const alias = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return alias.length <= MOST_CHARS ? alias : marked(name);
}

/** Tools whose aliases would be equal, and aliases that would be too long, get a hash as suffix. */
const marked = (name: string): string =>
  `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, MOST_CHARS - HASH_CHARS - 1)}_${hash('sha256', name, 'hex').slice(0, HASH_CHARS)}`;

/** The tool that a client names, by its own name or by its alias; an unknown name stays as it is. */
export function toolNamed(given: string, names: readonly string[]): string {
  if (names.includes(given)) return given;
  for (const [name, alias] of aliasesOf(names, 'alias')) if (alias === given) return name;
  return given;
}
