import assert from 'node:assert/strict';
import { z } from 'zod';
import type { ToolContract } from '../../../manifests/tool/contract.ts';
import { DISCOVERY_CONTRACTS } from '../../../tools/discovery/tools.ts';
import { MANAGEMENT_CONTRACTS } from '../../../tools/management/contracts.ts';
import { builtInOffer } from '../../../tools/tool-granter.ts';

/** Every tool svc.*. */
export const SVC_CONTRACTS: readonly ToolContract[] = [...MANAGEMENT_CONTRACTS, ...DISCOVERY_CONTRACTS];

/** What is read of a published JSON Schema. */
const Schema = z.object({
  /** Several where null is one of them. */
  type: z.union([z.string(), z.array(z.string())]).optional(),
  default: z.unknown().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  format: z.string().optional(),
  pattern: z.string().optional(),
  get items() {
    return Schema.optional();
  },
  get additionalProperties() {
    return z.union([z.boolean(), Schema]).optional();
  },
  get properties() {
    return z.record(z.string(), Schema).optional();
  },
  required: z.array(z.string()).optional(),
  get anyOf() {
    return z.array(Schema).optional();
  },
  get oneOf() {
    return z.array(Schema).optional();
  },
});
export type Schema = z.output<typeof Schema>;

export const schemaOf = (value: unknown): Schema => Schema.parse(value);

/** What a tool publishes of its arguments. */
export const inputOf = (contract: ToolContract): Schema => schemaOf(builtInOffer(contract).input_schema);

export function contractOf(tool: string): ToolContract {
  const contract = SVC_CONTRACTS.find(({ name }) => name === tool);
  assert.ok(contract !== undefined, `no tool ${tool}`);
  return contract;
}
