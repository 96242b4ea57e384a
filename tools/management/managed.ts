import type { z } from 'zod';
import type { CatalogScope } from '../../catalog/api.ts';
import { builtInId } from '../../catalog/built-in/api.ts';
import type { ToolContract } from '../../manifests/tool/contract.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { requireRole } from '../../security/api.ts';
import type { LateManagement, ManagementPorts } from '../../usecases/management.ts';
import { defineTool, type Tool, type ToolCall } from '../tool.ts';
import { failureOf } from './failure.ts';

/** One call of a management tool, as its handler gets it. */
export interface ManagedCall {
  readonly ports: ManagementPorts;
  readonly identity: Identity;
  readonly call: ToolCall;
}

/** An object that is sent as JSON: undefined members are dropped and nothing else changes. */
type Answer = object;

/**
 * Makes a management tool. It translates a call into one of its area's API and the answer into the tool's result, which
 * is returned both as JSON text and as an object.
 */
export const managed =
  (late: LateManagement) =>
  <Input extends z.ZodType>(
    contract: ToolContract<Input>,
    handler: (input: z.output<Input>, managed: ManagedCall) => Promise<Answer>,
  ): Tool =>
    defineTool(contract, async (input, call) => {
      const ports = await late();
      try {
        const text = JSON.stringify(await handler(input, { ports, identity: callerOf(call), call }));
        const structured: JsonObject = JSON.parse(text);
        return { text, structured };
      } catch (thrown) {
        throw failureOf(thrown);
      }
    });

/**
 * Throws `failed_precondition` for an entry that ships with the product, since such entries never change
 * (docs/explanation/catalog.md, Built-ins). A caller that wants another one creates an entry of the same name, which
 * gets an id of its own.
 */
export function refuseShipped(kind: 'agent' | 'workflow', found: { readonly id: string; readonly name: string }): void {
  if (found.id !== builtInId(kind, found.name)) return;
  const create = `svc.${kind}.create deploys another of its name`;
  throw new SvcError(
    'failed_precondition',
    `${kind} ${found.name} ships with the product: it stays as it is; ${create}`,
  );
}

/**
 * The scope of a new entry: the tenant for callers that may change what the tenant deploys, else the user. The others
 * can reach this only through the authoring agents, which act as their caller under a wider context; their entries
 * belong to the user, so that a user's text never replaces an agent of the tenant.
 */
export function scopeOfNew(identity: Identity): CatalogScope {
  try {
    requireRole(identity, 'write');
    return 'tenant';
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'forbidden') return 'user';
    throw thrown;
  }
}

/** The caller of a tool: the identity that started the calling execution, or the caller of /mcp. */
const callerOf = ({ run, tenant }: ToolCall): Identity => ({ ...run.subject.principal, tenant });
