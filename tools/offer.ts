import { z } from 'zod';
import type { McpTool } from '../effects/mcp/api.ts';
import { canonicalHash } from '../manifests/audit/chain.ts';
import type { ToolContract } from '../manifests/tool/contract.ts';
import type { ToolOffer } from '../manifests/tool/scope.ts';
import type { JsonObject } from '../runtime/json.ts';
import { TOOL_CONTRACTS } from './contracts.ts';

/** Schemas published once: a contract never changes while the process runs. */
const published = new WeakMap<ToolContract, ToolOffer>();

/** A built-in tool as it is offered. */
export function builtInOffer(contract: ToolContract): ToolOffer {
  const known = published.get(contract);
  if (known !== undefined) return known;
  const { name, description, skipJudge, mode, reads, runs } = contract;
  const offer: ToolOffer = {
    ...hashed({ name, description, input_schema: inputSchema(contract) }),
    ...{ source: 'builtin', skip_judge: skipJudge, mode, reads, runs },
  };
  published.set(contract, offer);
  return offer;
}

const results = new WeakMap<ToolContract, JsonObject>();

/** JSON Schema of a built-in tool's structured result; undefined for one that answers with text. */
export function outputSchema(name: string): JsonObject | undefined {
  const contract = TOOL_CONTRACTS.get(name);
  if (contract?.result === undefined) return undefined;
  const known = results.get(contract);
  if (known !== undefined) return known;
  const { $schema: _dialect, '~standard': _standard, ...schema } = z.toJSONSchema(contract.result, { io: 'output' });
  // A choice of objects does not say so by itself, and MCP wants it said.
  const made = z.record(z.string(), z.json()).parse({ ...schema, type: 'object' });
  results.set(contract, made);
  return made;
}

/** What a caller may send, defaults optional. */
function inputSchema(contract: ToolContract): ToolOffer['input_schema'] {
  const { $schema: _dialect, '~standard': _standard, ...schema } = z.toJSONSchema(contract.input, { io: 'input' });
  return z.record(z.string(), z.json()).parse(schema);
}

/** A tool of an MCP server as agents see it; null where its name is one of ours, which cannot be taken. */
export function mcpOffer(tool: McpTool): ToolOffer | null {
  const name = `${tool.server}.${tool.tool}`;
  if (TOOL_CONTRACTS.has(name)) return null;
  const { server, description, inputSchema: input_schema, skipJudge, repeatable, reads } = tool;
  return {
    ...hashed({ name, description, input_schema }),
    ...{ source: 'mcp', server, skip_judge: skipJudge, runs: 'node', reads },
    mode: reads || repeatable ? 'repeatable' : 'once',
  };
}

/** Files belong to the workspace of an execution, and commands run where its agent runs: a caller by itself has neither. */
export const needsExecution = ({ name, source, runs }: ToolOffer): boolean =>
  source === 'builtin' && (runs === 'agent' || name.startsWith('fs.'));

/** The hash by which a grant notices that a tool has changed. */
function hashed<Said extends { name: string; description: string; input_schema: JsonObject }>(said: Said) {
  const { name, description, input_schema } = said;
  return { name, description, input_schema, schema_hash: canonicalHash({ name, description, input_schema }) };
}
