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

/** One call of a management tool, as its handler sees it. */
export interface ManagedCall {
  readonly ports: ManagementPorts;
  readonly identity: Identity;
  readonly call: ToolCall;
}

/** An object that goes out as JSON: absent members are dropped, nothing else changes. */
type Answer = object;

/**
 * A management tool: a translation of a call into one of its area's api, and of the area's answer into the table's result.
 * The answer is the JSON text and the same object.
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
 * Throws `failed_precondition` for what ships with the product: it stays as it is (docs/explanation/catalog.md, Built-ins). Who wants
 * another in its place creates one of its name, which is another one with its own id.
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
 * The scope of a created entry: the tenant for those who may change what is deployed there. Others come here by
 * the authoring agents alone, which act as their caller under a wider context; what these make is the caller's own, so
 * that a text of a user never replaces an agent of the tenant.
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

/** The caller: the identity that started the calling execution, or the caller of /mcp. */
export const callerOf = ({ run, tenant }: ToolCall): Identity => ({ ...run.subject.principal, tenant });
